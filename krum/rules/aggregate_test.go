package rules

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

func lookup(t require.TestingT, name string) Rule {
	rule, err := Lookup(name)
	require.NoError(t, err)
	return rule
}

// spreads makes ties and duplicates common or rare.
var spreads = []int{0, 1, 2, 9, 127}

// drawInput returns an input that every rule can aggregate.
func drawInput(r *splitmix64) Input {
	n := 4 + r.below(7)
	in := Input{N: n, F: r.below((n - 1) / 2), Unsquared: r.below(3) == 0}
	included := n - r.below(min(in.F, n-2*in.F-1)+1)
	w := []gradients.Width{gradients.Int8, gradients.Int16}[r.below(2)]
	d := 1 + r.below(4)
	in.Vectors = generate(w, included, d, spreads[r.below(len(spreads))], r.next())
	switch r.below(4) {
	case 0: // colluders: the last f are one and the same extreme vector
		for i := included - in.F; i < included; i++ {
			for k := range d {
				in.Vectors[i].Set(k, w.Max())
			}
		}
	case 1: // attackers at opposite corners
		for i := range in.F {
			for k := range d {
				in.Vectors[i].Set(k, w.Max()-2*w.Max()*int64((i+k)%2))
			}
		}
	case 2:
		in.Floor = int64(r.below(1 << (1 + r.below(20))))
	}
	return in
}

func requireDelta(t *testing.T, name string, in Input) {
	t.Helper()
	rule := lookup(t, name)
	out, err := rule.Aggregate(in)
	require.NoError(t, err, "%s %+v", name, in)
	want := reference(name, in)
	require.Len(t, out.Delta.Num, len(want))
	for j := range want {
		require.Zero(t, want[j].Cmp(big.NewRat(out.Delta.Num[j], out.Delta.Den)),
			"%s: coordinate %d is %d/%d, want %v; %+v", name, j, out.Delta.Num[j], out.Delta.Den, want[j], in)
	}
	require.Equal(t, rule.Denominator(in.N, in.F, len(in.Vectors)), out.Delta.Den, name)
	_, err = gradients.DecodeFraction(in.Vectors[0].Width(), in.Vectors[0].Len(), out.Delta.Den, out.Delta.Encode())
	require.NoError(t, err, "every Delta can be carried")
}

func TestRulesMatchTheReferences(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := splitmix64(len(name))
			for range 1500 { // times ten rules
				requireDelta(t, name, drawInput(&r))
			}
		})
	}
}

// Shapes at which strips, blocks and lanes end raggedly.
func TestRulesOnRaggedShapes(t *testing.T) {
	for _, name := range []string{"mean", "median", "trimmed-mean", "nnm+median", "nnm+trimmed-mean", "nnm+multi-krum"} {
		for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
			for _, d := range []int{1, 3, 31, 32, 33, 63, 64, 65, 67, 1024, 1090} {
				requireDelta(t, name, Input{N: 5, F: 1, Vectors: generate(w, 5, d, 127, uint64(d))})
			}
		}
	}
}

// Many points, among them mixtures of more than 129, whose sums need lanes of 32 bits.
func TestRulesOnManyPoints(t *testing.T) {
	for _, c := range []struct{ n, f int }{{33, 16}, {40, 3}, {136, 6}} {
		for _, name := range []string{"median", "trimmed-mean", "nnm+trimmed-mean"} {
			requireDelta(t, name, Input{N: c.n, F: c.f, Vectors: generate(gradients.Int8, c.n, 2, 127, uint64(c.n))})
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
			{Input{N: 5, F: 1, Vectors: vs, Floor: -3}, ErrInfeasible, "floor -3"},
			{Input{N: 5, F: 1}, ErrTooFew, "none included"},
		} {
			_, err := rule.Aggregate(c.in)
			require.ErrorIs(t, err, c.want, name)
			require.ErrorContains(t, err, c.says, name)
		}
		require.Panics(t, func() {
			_, _ = rule.Aggregate(Input{N: 5, F: 1, Vectors: append(vs[:2:2], gradients.NewVector(gradients.Int8, 4))})
		})
	}
	for name, c := range map[string]struct{ n, f, included int }{
		"krum":             {10, 2, 6}, // six nearest others, five there
		"multi-krum":       {10, 2, 6},
		"nnm+krum":         {10, 2, 6},
		"trimmed-mean":     {10, 3, 6},
		"nnm+trimmed-mean": {10, 3, 6},
		"nnm+mean":         {10, 3, 3},
	} {
		_, err := lookup(t, name).Aggregate(Input{N: c.n, F: c.f, Vectors: generate(gradients.Int8, c.included, 3, 9, 1)})
		require.ErrorIs(t, err, ErrTooFew, name)
	}
	_, err := lookup(t, "krum").Aggregate(Input{N: 4, F: 2, Vectors: vs[:4]})
	require.ErrorIs(t, err, ErrInfeasible)
}

// What an operator reads in "why was I rejected".
func TestOutputExplainsItself(t *testing.T) {
	vs := []gradients.Vector{
		gradients.FromInt8([]int8{0}), gradients.FromInt8([]int8{1}), gradients.FromInt8([]int8{3}),
		gradients.FromInt8([]int8{7}), gradients.FromInt8([]int8{100}),
	}
	in := Input{N: 5, F: 1, Vectors: vs}

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

	out, err = lookup(t, "median").Aggregate(in)
	require.NoError(t, err)
	require.Equal(t, Output{
		Delta:    gradients.Fraction{Num: []int64{3}, Den: 1},
		Selected: []int{0, 1, 2, 3, 4},
		Margin:   -1,
	}, out)
}
