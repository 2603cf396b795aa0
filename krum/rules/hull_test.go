package rules

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

func TestRoot(t *testing.T) {
	r := splitmix64(13)
	check := func(x uint64) {
		require.Equal(t, new(big.Int).Sqrt(new(big.Int).SetUint64(x)).Uint64(), root(x), "%d", x)
	}
	for x := range uint64(3000) {
		check(x)
		check(math.MaxUint64 - x)
		check((1<<31 + x) * (1<<31 + x))
		check((1<<31+x)*(1<<31+x) - 1)
		check(r.next() >> r.below(64))
	}
}

func TestShare(t *testing.T) {
	require.Equal(t, []int64{1 << 20}, shareAll([]uint64{7}))
	require.Equal(t, []int64{349526, 349525, 349525}, shareAll([]uint64{5, 5, 5}))
	require.Equal(t, []int64{0, 1 << 19, 1 << 19}, shareAll([]uint64{0, 1, 1}))
	require.Equal(t, []int64{1, 1<<20 - 1}, shareAll([]uint64{1, 1<<21 - 1}), "both lose one half, the first gets it back")
	shares, lost, left := share([]uint64{1, 1<<21 - 1})
	require.Equal(t, []int64{0, 1<<20 - 1}, shares)
	require.Equal(t, []uint64{1 << 20, 1 << 20}, lost)
	require.Equal(t, int64(1), left)
	r := splitmix64(14)
	for range 1000 {
		a := make([]uint64, 1+r.below(40))
		var sum, shares float64
		for i := range a {
			a[i] = r.next() >> (24 + r.below(40))
			sum += float64(a[i])
		}
		a[0] |= 1 << 30
		for i, s := range shareAll(a) {
			require.InDelta(t, float64(a[i])/sum*(1<<20), s, 1.0001+float64(1<<30)/sum*(1<<20))
			shares += float64(s)
		}
		require.Equal(t, float64(1<<20), shares)
	}
}

// exactPlace is a place in rational coordinates, the points' with them.
type exactPlace struct {
	points [][]*big.Float
	at     []*big.Float
}

const exactBits = 200

func exactFloat(x int64) *big.Float { return new(big.Float).SetPrec(exactBits).SetInt64(x) }

// exactStart puts the place at num/den and the points at the vectors.
func exactStart(vs []gradients.Vector, num []int64, den int64) exactPlace {
	var p exactPlace
	for _, v := range vs {
		var row []*big.Float
		for j := range v.Len() {
			row = append(row, exactFloat(v.At(j)))
		}
		p.points = append(p.points, row)
	}
	for _, x := range num {
		p.at = append(p.at, exactFloat(0).Quo(exactFloat(x), exactFloat(den)))
	}
	return p
}

func distanceOf(a, b []*big.Float) *big.Float {
	sum := exactFloat(0)
	for j := range a {
		gap := exactFloat(0).Sub(a[j], b[j])
		sum.Add(sum, gap.Mul(gap, gap))
	}
	return sum.Sqrt(sum)
}

// diameter returns the largest distance of two of the rows.
func diameter(rows [][]*big.Float) float64 {
	most := 0.0
	for i, a := range rows {
		for _, b := range rows[:i] {
			x, _ := distanceOf(a, b).Float64()
			most = max(most, x)
		}
	}
	return most
}

// weiszfeld is one smoothed step without rounding.
func (p *exactPlace) weiszfeld() {
	next, total := make([]*big.Float, len(p.at)), exactFloat(0)
	for j := range next {
		next[j] = exactFloat(0)
	}
	for _, point := range p.points {
		w := distanceOf(point, p.at)
		if w.Cmp(exactFloat(1)) < 0 {
			w = exactFloat(1)
		}
		w.Quo(exactFloat(1), w)
		total.Add(total, w)
		for j := range next {
			next[j].Add(next[j], exactFloat(0).Mul(w, point[j]))
		}
	}
	for j := range next {
		next[j].Quo(next[j], total)
	}
	p.at = next
}

// objective returns the smoothed sum of distances, F in the rule's comment.
func (p *exactPlace) objective() float64 {
	sum := 0.0
	for _, point := range p.points {
		r, _ := distanceOf(point, p.at).Float64()
		if r < 1 {
			r = (r*r + 1) / 2
		}
		sum += r
	}
	return sum
}

// vectorsIn draws what geometric-median and centered-clipping are to be held to their bounds on.
func vectorsIn(r *splitmix64) []gradients.Vector {
	w := []gradients.Width{gradients.Int8, gradients.Int16}[r.below(2)]
	vs := generate(w, 1+r.below(9), 1+r.below(5), spreads[r.below(5)], r.next())
	for i := range r.below(1 + (len(vs)-1)/2) {
		for k := range vs[i].Len() {
			vs[i].Set(k, w.Max()-2*w.Max()*int64(r.below(2)))
		}
	}
	return vs
}

// The bounds that geometricMedianRule's comment states: of a step, of the end, and of the
// objective.
func TestGeometricMedianIsAsCloseAsItSays(t *testing.T) {
	r := splitmix64(15)
	cases := 400
	if testing.Short() {
		cases = 40
	}
	for range cases {
		vs := vectorsIn(&r)
		k := float64(len(vs))
		mean := gradients.Mean(vs)
		start := exactStart(vs, mean.Num, mean.Den)
		d := diameter(start.points)

		// One step, from places that weights of any kind give.
		h := points{vectors: vs}.newHull()
		weights := make([]uint64, len(vs))
		for i := range weights {
			weights[i] = 1 + r.next()>>(34+r.below(29))
		}
		place := exactAt(vs, weights)
		place.weiszfeld()
		h.step(weights)
		gap, _ := distanceOf(exactAt(vs, weights).at, place.at).Float64()
		require.LessOrEqual(t, gap, k*math.Pow(2, -30)*d*(1+1e-9))

		// All steps and the end.
		out, err := lookup(t, "geometric-median").Aggregate(Input{N: len(vs), Vectors: vs})
		require.NoError(t, err)
		end := exactStart(vs, out.Delta.Num, out.Delta.Den)
		slack := (32*k*k*math.Pow(2, -30) + k*k*math.Pow(2, -20)) * d
		require.LessOrEqual(t, end.objective(), start.objective()+slack+1e-9)

		// Not a theorem, but what one expects: 32 steps without rounding end in the same place.
		for range 32 {
			start.weiszfeld()
		}
		gap, _ = distanceOf(start.at, end.at).Float64()
		require.LessOrEqual(t, gap, k*math.Pow(2, -20)*d+32*k*math.Pow(2, -30)*d+1e-9)
	}
}

// exactAt returns the place that weights give.
func exactAt(vs []gradients.Vector, weights []uint64) exactPlace {
	p := exactStart(vs, make([]int64, vs[0].Len()), 1)
	total := exactFloat(0)
	for i, point := range p.points {
		w := new(big.Float).SetPrec(exactBits).SetUint64(weights[i])
		total.Add(total, w)
		for j := range p.at {
			p.at[j].Add(p.at[j], exactFloat(0).Mul(w, point[j]))
		}
	}
	for j := range p.at {
		p.at[j].Quo(p.at[j], total)
	}
	return p
}

// The bound that centeredClippingRule's comment states, against ten steps without rounding, which
// also says what the rule is.
func TestCenteredClippingIsAsCloseAsItSays(t *testing.T) {
	r := splitmix64(16)
	cases := 400
	if testing.Short() {
		cases = 40
	}
	for range cases {
		vs := vectorsIn(&r)
		k := len(vs)
		out, err := lookup(t, "centered-clipping").Aggregate(Input{N: k, Vectors: vs})
		require.NoError(t, err)
		median, err := lookup(t, "median").Aggregate(Input{N: k, Vectors: vs})
		require.NoError(t, err)
		p := exactStart(vs, median.Delta.Num, median.Delta.Den)
		d := diameter(append(p.points, p.at))
		var radius *big.Float
		for range 10 {
			distances := make([]*big.Float, k)
			for i, point := range p.points {
				distances[i] = distanceOf(point, p.at)
			}
			if radius == nil {
				order := refOrder(k, func(i, j int) bool { return distances[i].Cmp(distances[j]) < 0 })
				radius = distances[order[(k-1)/2]]
			}
			next := append([]*big.Float(nil), p.at...)
			for i, point := range p.points {
				factor := exactFloat(1)
				if distances[i].Cmp(radius) > 0 {
					factor.Quo(radius, distances[i])
				}
				factor.Quo(factor, exactFloat(int64(k)))
				for j := range next {
					gap := exactFloat(0).Sub(point[j], p.at[j])
					next[j] = exactFloat(0).Add(next[j], gap.Mul(gap, factor))
				}
			}
			p.at = next
		}
		end := exactStart(vs, out.Delta.Num, out.Delta.Den)
		gap, _ := distanceOf(p.at, end.at).Float64()
		n := float64(k + 1)
		require.LessOrEqual(t, gap, (10*(math.Pow(2, -30)+n*math.Pow(2, -39))+n*math.Pow(2, -20))*d+1e-12)
	}
}

// Wide sums: the largest coordinates, dimensions long enough to matter, and mixtures of many.
func TestHullMeasuresExactly(t *testing.T) {
	r := splitmix64(17)
	for range 60 {
		n := 2 + r.below(30)
		vs := generate(gradients.Int16, n, 700, 16383, r.next())
		in := Input{N: n, F: r.below((n + 1) / 2), Vectors: vs}
		p := mix(in)
		if r.below(2) == 0 {
			p = points{vectors: vs}
		}
		h := p.newHull()
		median := p.middleMean((n-1)/2, n/2+1)
		h.addCentre(median.Num, median.Den)
		a0 := r.next() >> (24 + r.below(30))
		a := make([]uint64, n)
		for i := range a {
			a[i] = r.next() >> (29 + r.below(34))
		}
		h.measure(a0, a)

		sum := new(big.Int).SetUint64(a0)
		for _, x := range a {
			sum.Add(sum, new(big.Int).SetUint64(x))
		}
		unit := new(big.Int).Mul(sum, big.NewInt(median.Den*int64(p.size())*int64(p.size())))
		unit.Mul(unit, unit)
		require.Zero(t, unit.Cmp(&h.unit))
		// Coordinates times g s A, where g is median.Den, a multiple of s.
		coordinate := func(i, j int) int64 {
			var x int64
			for _, l := range p.membersOf(i) {
				x += vs[l].At(j)
			}
			return x
		}
		place := make([]*big.Int, 700)
		for j := range place {
			place[j] = new(big.Int).Mul(new(big.Int).SetUint64(a0), big.NewInt(median.Num[j]*int64(p.size())))
			for i, x := range a {
				place[j].Add(place[j], new(big.Int).Mul(new(big.Int).SetUint64(x), big.NewInt(coordinate(i, j)*median.Den)))
			}
		}
		for _, i := range []int{0, n - 1} {
			want := new(big.Int)
			for j := range place {
				gap := new(big.Int).Mul(sum, big.NewInt(coordinate(i, j)*median.Den))
				gap.Sub(gap, place[j])
				want.Add(want, gap.Mul(gap, gap))
			}
			want.Mul(want, big.NewInt(int64(p.size())*int64(p.size()))) // from (g s A)^2 to unit
			require.Zero(t, want.Cmp(h.squares[i]), "point %d of %d, f = %d", i, n, in.F)
		}
	}
}
