package rules

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/krum"
)

func lookup(t require.TestingT, name string) Rule {
	rule, err := Lookup(name)
	require.NoError(t, err)
	return rule
}

// spreads makes ties and duplicates common or rare.
var spreads = []int{0, 1, 2, 9, 127, 16383}

// drawInput returns an input that the rule of that name can aggregate: with f up to the limit and
// participants silent.
func drawInput(r *splitmix64, name string) Input {
	for {
		if in := drawAnyInput(r); refusal(name, in.N, in.F, len(in.Vectors)) == nil {
			return in
		}
	}
}

// drawAnyInput returns an input that some rules refuse.
func drawAnyInput(r *splitmix64) Input {
	n := 1 + r.below(12)
	in := Input{N: n, F: r.below((n + 1) / 2), Unsquared: r.below(4) == 0}
	if r.below(8) == 0 {
		in.F = r.below(n)
	}
	included := n - r.below(in.F+1)
	if r.below(8) == 0 {
		included = 1 + r.below(n)
	}
	w := []gradients.Width{gradients.Int8, gradients.Int16}[r.below(2)]
	d := 1 + r.below(4)
	spread := min(spreads[r.below(len(spreads))], int(w.Max()))
	in.Vectors = generate(w, included, d, spread, r.next())
	switch r.below(6) {
	case 0: // colluders: the last f are one and the same extreme vector
		for i := max(0, included-in.F); i < included; i++ {
			for k := range d {
				in.Vectors[i].Set(k, w.Max())
			}
		}
	case 1: // attackers at opposite corners
		for i := range min(in.F, included) {
			for k := range d {
				in.Vectors[i].Set(k, w.Max()-2*w.Max()*int64((i+k)%2))
			}
		}
	case 2: // everybody at a corner
		for _, v := range in.Vectors {
			for k := range d {
				v.Set(k, w.Max()-2*w.Max()*int64(r.below(2)))
			}
		}
	case 3: // duplicates
		for i := range in.Vectors {
			in.Vectors[i] = in.Vectors[r.below(i+1)]
		}
	case 4:
		in.Floor = int64(r.below(1 << (1 + r.below(20))))
	}
	if r.below(2) == 0 {
		in.Seed = binary.LittleEndian.AppendUint64(nil, r.next())[:r.below(9)]
	}
	return in
}

func requireDelta(t *testing.T, name string, in Input) {
	t.Helper()
	requireReference(t, name)
	rule := lookup(t, name)
	out, err := rule.Aggregate(in)
	require.NoError(t, err, "refusal in reference_test.go, which says what a rule needs, lets %s have this input: %+v",
		name, in)
	want := reference(name, in)
	if len(want.num) != len(out.Delta.Num) {
		t.Fatalf("%s: %d coordinates, want %d", name, len(out.Delta.Num), len(want.num))
	}
	for j, num := range want.num {
		if big.NewRat(num, want.den).Cmp(big.NewRat(out.Delta.Num[j], out.Delta.Den)) != 0 {
			t.Fatalf("%s: coordinate %d is %d/%d, want %d/%d; %+v", name, j, out.Delta.Num[j], out.Delta.Den, num, want.den, in)
		}
	}
	if den := rule.Denominator(in.N, in.F, len(in.Vectors)); den != out.Delta.Den {
		t.Fatalf("%s: denominator %d, announced %d; %+v", name, out.Delta.Den, den, in)
	}
	_, err = gradients.DecodeFraction(in.Vectors[0].Width(), in.Vectors[0].Len(), out.Delta.Den, out.Delta.Encode())
	require.NoError(t, err, "every Delta can be carried")
	requireExplained(t, name, in, out)
}

// requireExplained checks what holds of every explanation.
func requireExplained(t *testing.T, name string, in Input, out Output) {
	t.Helper()
	k := len(in.Vectors)
	seen := make([]bool, k)
	for _, i := range out.Selected {
		if seen[i] {
			t.Fatalf("%s: %d is selected twice", name, i)
		}
		seen[i] = true
	}
	ok := len(out.Selected) > 0 && out.Margin >= -1 &&
		(out.Score == nil || len(out.Score) == k) && (out.Neighbours == nil || len(out.Neighbours) == k)
	for _, s := range out.Score {
		ok = ok && s >= 0
	}
	if !ok {
		t.Fatalf("%s: %+v explains %+v", name, out, in)
	}
}

func TestRulesMatchTheReferences(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases := stage.Pick(200, 1500, 10_000)
			r := splitmix64(len(name))
			for done := 0; done < cases; {
				in := drawAnyInput(&r)
				if want := refusal(name, in.N, in.F, len(in.Vectors)); want != nil {
					_, err := lookup(t, name).Aggregate(in)
					if !errors.Is(err, want) {
						t.Fatalf("%s: error %v, want %v, as refusal in reference_test.go says; %+v", name, err, want, in)
					}
					continue
				}
				requireDelta(t, name, in)
				done++
			}
		})
	}
}

// Shapes at which strips, blocks and lanes end raggedly.
func TestRulesOnRaggedShapes(t *testing.T) {
	for _, name := range Names() {
		for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
			for _, d := range stage.Pick(
				[]int{1, 31, 33, 65}, []int{1, 3, 31, 32, 33, 63, 64, 65, 67}, []int{1, 3, 31, 32, 33, 63, 64, 65, 67, 1024, 1090},
			) {
				in := Input{N: 10, F: 1, Vectors: generate(w, 9, d, 127, uint64(d))}
				requireDelta(t, name, in)
			}
		}
	}
}

// Many points, among them mixtures of more than 129, whose sums need lanes of 32 bits.
func TestRulesOnManyPoints(t *testing.T) {
	for _, c := range []struct{ n, f int }{{33, 16}, {40, 3}, {136, 6}} {
		for _, name := range []string{
			"median", "trimmed-mean", "nnm+trimmed-mean", "mean-around-median", "nnm+mean-around-median", "bulyan", "nnm+bulyan",
			"bucketing+mean-around-median", "geometric-median", "nnm+geometric-median", "centered-clipping", "nnm+cge",
		} {
			if refusal(name, c.n, c.f, c.n) == nil {
				requireDelta(t, name, Input{N: c.n, F: c.f, Vectors: generate(gradients.Int8, c.n, 2, 127, uint64(c.n))})
			}
		}
	}
}

func TestRulesRefuse(t *testing.T) {
	vs := generate(gradients.Int8, 5, 3, 9, 1)
	for _, name := range Names() {
		rule := lookup(t, name)
		for _, c := range []struct {
			in   Input
			want error
			says string
		}{
			{Input{N: 5, F: -1, Vectors: vs}, ErrInfeasible, "f = -1"},
			{Input{N: 5, F: 5, Vectors: vs}, ErrInfeasible, "f = 5"},
			{Input{N: 5000, F: 1, Vectors: vs}, ErrInfeasible, "N = 5000"},
			{Input{N: 4, F: 1, Vectors: vs}, ErrInfeasible, "5 vectors of 4"},
			{Input{N: 5, Vectors: vs, Floor: -3}, ErrInfeasible, "floor -3"},
			{Input{N: 5, F: 1}, ErrTooFew, "none included"},
		} {
			_, err := rule.Aggregate(c.in)
			require.ErrorIs(t, err, c.want, name)
			require.ErrorContains(t, err, c.says, name)
		}
		require.Panics(t, func() {
			_, _ = rule.Aggregate(Input{N: 5, Vectors: append(vs[:4:4], gradients.NewVector(gradients.Int8, 4))})
		})
	}
	for name, c := range map[string]struct{ n, f, included int }{
		"krum":             {10, 2, 6}, // six nearest others, five there
		"multi-krum":       {10, 2, 6},
		"nnm+krum":         {10, 2, 6},
		"trimmed-mean":     {10, 3, 6},
		"nnm+trimmed-mean": {10, 3, 6},
		"nnm+mean":         {10, 3, 3},

		"mean-around-median":     {10, 3, 6},
		"mda":                    {10, 3, 6},
		"cge":                    {10, 3, 3},
		"bulyan":                 {14, 3, 9},
		"nnm+bulyan":             {14, 3, 9},
		"bucketing+krum":         {10, 2, 2}, // one nearest other bucket, of one bucket
		"bucketing+trimmed-mean": {10, 2, 8}, // four buckets
	} {
		_, err := lookup(t, name).Aggregate(Input{N: c.n, F: c.f, Vectors: generate(gradients.Int8, c.included, 3, 9, 1)})
		require.ErrorIs(t, err, ErrTooFew, name)
		require.Equal(t, strings.Contains(name, "krum"), strings.Contains(err.Error(), "krum"), err)
	}
	for name, c := range map[string]struct {
		n, f int
		says string
	}{
		"krum":             {4, 2, "N = 4, f = 2"},
		"bulyan":           {12, 3, "want N >= 4f+1 = 13"},
		"nnm+bulyan":       {12, 3, "want N >= 4f+1 = 13"},
		"mda":              {80, 34, "want f <= 33"},
		"bucketing+median": {8, 4, "N = 8 in N' = 4 buckets of 2, f = 4, want f < N'"},
		"bucketing+krum":   {8, 2, "N = 8 in N' = 4 buckets of 2, 8 included in 4"},
	} {
		_, err := lookup(t, name).Aggregate(Input{N: c.n, F: c.f, Vectors: generate(gradients.Int8, c.n, 3, 9, 1)})
		require.ErrorIs(t, err, ErrInfeasible, name)
		require.ErrorContains(t, err, c.says, name)
	}
}

// fivePoints returns four values close together and one far from them.
func fivePoints() Input {
	return Input{N: 5, F: 1, Vectors: []gradients.Vector{
		gradients.FromInt8([]int8{0}), gradients.FromInt8([]int8{1}), gradients.FromInt8([]int8{3}),
		gradients.FromInt8([]int8{7}), gradients.FromInt8([]int8{100}),
	}}
}

// What an operator reads in "why was I rejected".
func TestOutputExplainsItself(t *testing.T) {
	in := fivePoints()

	out, err := lookup(t, "krum").Aggregate(in)
	require.NoError(t, err)
	require.Equal(t, Output{
		Delta:      gradients.Fraction{Num: []int64{1}, Den: 1},
		Selected:   []int{1},
		Score:      []int64{10, 5, 13, 52, 93*93 + 97*97},
		Neighbours: [][]int{{1, 2}, {0, 2}, {1, 0}, {2, 1}, {3, 2}},
		Margin:     5,
	}, out)

	out, err = lookup(t, "multi-krum").Aggregate(in)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 2, 3}, out.Selected)
	require.Equal(t, gradients.Fraction{Num: []int64{11}, Den: 4}, out.Delta)

	// Mixtures of four: 11, 11, 11, 11 for the honest, 111 for the last, in quarters.
	out, err = lookup(t, "nnm+krum").Aggregate(in)
	require.NoError(t, err)
	require.Equal(t, Output{
		Delta:      gradients.Fraction{Num: []int64{11}, Den: 4},
		Selected:   []int{0, 1, 2, 3},
		Score:      []int64{0, 0, 0, 0, 2 * 100 * 100},
		Neighbours: [][]int{{0, 1, 2, 3}, {1, 0, 2, 3}, {2, 1, 0, 3}, {3, 2, 1, 0}, {4, 3, 2, 1}},
		Margin:     0,
	}, out)

	// The order of the seed is 1, 4 | 0, 2 | 3: buckets 101, 3, 14, in halves.
	in.F, in.Seed = 0, seedWith(1, 4, 0, 2, 3)
	out, err = lookup(t, "bucketing+krum").Aggregate(in)
	require.NoError(t, err)
	require.Equal(t, Output{
		Delta:      gradients.Fraction{Num: []int64{3}, Den: 2},
		Selected:   []int{0, 2},
		Score:      []int64{121, 87 * 87, 121, 121, 87 * 87},
		Neighbours: [][]int{{0, 2}, {1, 4}, {2, 0}, {3}, {4, 1}},
		Margin:     0,
	}, out)
}

func TestOutputOfRulesThatAverageExplainsItself(t *testing.T) {
	for _, c := range []struct {
		name string
		want Output
	}{
		{"median", Output{
			Delta:    gradients.Fraction{Num: []int64{3}, Den: 1},
			Selected: []int{0, 1, 2, 3, 4},
			Margin:   -1,
		}},
		{"mean-around-median", Output{ // 0, 1, 3, 7
			Delta:    gradients.Fraction{Num: []int64{11}, Den: 4},
			Selected: []int{0, 1, 2, 3, 4},
			Margin:   -1,
		}},
		{"cge", Output{
			Delta:    gradients.Fraction{Num: []int64{11}, Den: 4},
			Selected: []int{0, 1, 2, 3},
			Score:    []int64{0, 1, 9, 49, 10000},
			Margin:   10000 - 49,
		}},
		{"mda", Output{ // each one's distance to the farthest of the selected
			Delta:    gradients.Fraction{Num: []int64{11}, Den: 4},
			Selected: []int{0, 1, 2, 3},
			Score:    []int64{49, 36, 16, 49, 10000},
			Margin:   10000 - 49,
		}},
		// Krum takes 1, then of 0, 3, 7, 100 the 0 for a tie with 3, then 3: the median of 0, 1, 3.
		{"bulyan", Output{
			Delta:      gradients.Fraction{Num: []int64{1}, Den: 1},
			Selected:   []int{1, 0, 2},
			Score:      []int64{10, 5, 13, 52, 93*93 + 97*97},
			Neighbours: [][]int{{1, 2}, {0, 2}, {1, 0}, {2, 1}, {3, 2}},
			Margin:     -1,
		}},
		// The distances from the median 3 have lower median 3. With differences of at most 3 the
		// sum at v is 1 for v = 3 and 7 - 2v beyond: v goes to 3.2, then on by 0.4 (3.5 - v), and
		// is 3.49698 after ten steps. The share of 100 is rounded down, by which the end falls
		// short of that by less than 97 * 2^-20.
		{"centered-clipping", Output{
			Delta:    gradients.Fraction{Num: []int64{3666753}, Den: 1 << 20},
			Selected: []int{0, 1, 2, 3, 4},
			Score:    []int64{3, 2, 0, 3, 96},
			Margin:   -1,
		}},
		// Of an odd number of numbers the geometric median is the median, 3. That shares are
		// multiples of 2^-20 moves it by 25 of these here, towards 0.
		{"geometric-median", Output{
			Delta:    gradients.Fraction{Num: []int64{3145703}, Den: 1 << 20},
			Selected: []int{0, 1, 2, 3, 4},
			Score:    []int64{2, 1, 0, 4, 97},
			Margin:   -1,
		}},
	} {
		out, err := lookup(t, c.name).Aggregate(fivePoints())
		require.NoError(t, err)
		require.Equal(t, c.want, out, c.name)
	}
}

// seedWith returns a seed that gives this order.
func seedWith(order ...int) []byte {
	for s := uint64(0); ; s++ {
		if seed := binary.LittleEndian.AppendUint64(nil, s); slices.Equal(bucketOrder(seed, len(order)), order) {
			return seed
		}
	}
}

// The first order was made with sha256sum(1) and sort(1).
func TestBucketOrder(t *testing.T) {
	require.Equal(t, []int{2, 4, 0, 1, 3, 5}, bucketOrder([]byte("round 7"), 6))
	require.Equal(t, bucketOrder(nil, 9), bucketOrder([]byte{}, 9))
	// Each order is as likely as any other: of 24 orders of four, 24,000 seeds give each one 1000
	// times but for five standard deviations of 31.
	count := map[[4]int]int{}
	for s := range uint32(24000) {
		count[[4]int(bucketOrder(binary.LittleEndian.AppendUint32(nil, s), 4))]++
	}
	require.Len(t, count, 24)
	for order, c := range count {
		require.InDelta(t, 1000, c, 155, "%v", order)
	}
}

// Distances so large that sums leave int64, by stretching, change the path and nothing that is
// selected.
func TestRulesBeyondInt64(t *testing.T) {
	r := splitmix64(18)
	for range 200 {
		in := Input{N: 9, F: 2, Vectors: generate(gradients.Int8, 9, 4, 20, r.next())}
		p := mix(in)
		if r.below(2) == 0 {
			p.floor = int64(r.below(2000))
		}
		stretched := p
		stretched.floor <<= 49
		stretched.pairs = gradients.DistancesOf(9, func(i, j int) int64 { return p.pairs.At(i, j) << 49 })
		require.NotNil(t, stretched.distances().wide)
		for _, rule := range []aggregator{minimumDiameterRule{}, bulyanRule{}} {
			want, err := rule.aggregate(in, p)
			require.NoError(t, err)
			got, err := rule.aggregate(in, stretched)
			require.NoError(t, err)
			require.Equal(t, want.Delta, got.Delta)
			require.Equal(t, want.Selected, got.Selected)
			for i, s := range want.Score {
				exact := new(big.Int).Lsh(big.NewInt(s), 49)
				require.Equal(t, krum.Saturate(exact), got.Score[i])
			}
		}
	}
}

// Floors beyond any distance make all scores equal, on whichever path.
func TestHugeFloors(t *testing.T) {
	vs := generate(gradients.Int8, 9, 4, 20, 1)
	for _, floor := range []int64{1 << 52, 1 << 62, math.MaxInt64} {
		for _, name := range []string{"bulyan", "mda", "bucketing+bulyan", "bucketing+mda", "bucketing+krum"} {
			in := Input{N: 9, F: 1, Vectors: vs, Floor: floor}
			out, err := lookup(t, name).Aggregate(in)
			require.NoError(t, err, name)
			for _, s := range out.Score {
				require.Equal(t, out.Score[0], s, name)
			}
		}
	}
}
