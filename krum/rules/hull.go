package rules

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"github.com/spdl/spdl/gradients"
)

// weightBits is the number of fractional bits of the weights with which the aggregate is a mean.
const weightBits = 20

// A hull is the convex hull of points y_1 to y_k and, if there is one, of a centre m, of which only
// distances are known. A place v in it is given by weights; geometric-median and centered-clipping
// iterate on these, in O(k^2) a step instead of O(k d), and no coordinate is ever rounded.
//
// Let v = (a_0 m + sum of a_i y_i)/A, where A is the sum of all weights; s the size, so that y_i is the mean of s
// vectors x_l, its members; b_l the sum of a_i over the occurrences of x_l as a member, b_0 = s a_0 and B = s A. The
// squared distance of v and x_l is, times B^2 (expand it as for distances),
//
//	B (sum over j of b_j |x_j - x_l|^2 + b_0 |m - x_l|^2) - H
//	H = 1/2 sum over j, l of b_j b_l |x_j - x_l|^2 + b_0 sum over j of b_j |m - x_j|^2
//
// and |v - y_i|^2 is the mean of that over the members of y_i, less 1/s^2 times the sum of |x_j - x_l|^2 over the pairs
// of members. With g for the denominator of m, all is integer when multiplied by (s g B)^2.
//
// Nothing overflows: weights are at most 2^40 with A <= 2^42, so b_l <= 2^43 and B <= 2^54; the sum
// of b_j |x_j - x_l|^2 is at most 2^54 * 2^51, and its sum over the members of a point at most
// 2^117, which is kept in 128 bits. The rest is done once a point, in big integers.
type hull struct {
	points
	within  []*big.Int // for each point the sum of squared distances of pairs of its members
	centre  []*big.Int // for each point the sum of (g |m - x_l|)^2 over its members; nil if there is no centre
	g       int64      // the denominator of m, 1 if there is none
	squares []*big.Int // what measure writes: squared distances times unit
	unit    big.Int
	scratch [3]big.Int
}

// newHull returns the hull of p without a centre.
func (p points) newHull() *hull {
	p.pairs = p.pairwise()
	h := &hull{points: p, g: 1}
	for i := range p.len() {
		h.within = append(h.within, p.within(i))
		h.squares = append(h.squares, new(big.Int))
	}
	return h
}

// addCentre adds the centre num/g.
func (h *hull) addCentre(num []int64, g int64) {
	h.g = g
	squared, dots := dots(num, h.vectors)
	norms := squaredNorms(h.vectors)
	to := make([]*big.Int, len(h.vectors)) // (g |m - x|)^2 = |num|^2 - 2 g <num, x> + g^2 |x|^2
	for l := range to {
		to[l] = big.NewInt(norms[l])
		to[l].Mul(to[l], big.NewInt(g))
		to[l].Sub(to[l], big.NewInt(2*dots[l])) // below 2^63
		to[l].Mul(to[l], big.NewInt(g))
		to[l].Add(to[l], squared)
	}
	for i := range h.len() {
		sum := new(big.Int)
		for _, l := range h.membersOf(i) {
			sum.Add(sum, to[l])
		}
		h.centre = append(h.centre, sum)
	}
}

// dots returns |num|^2 and <num, v> for each vector. Numerators are below 2^13 * 2^14.
func dots(num []int64, vs []gradients.Vector) (squared *big.Int, products []int64) {
	squared, products = new(big.Int), make([]int64, len(vs))
	var mu sync.Mutex
	gradients.InBlocks(len(num), len(vs), func(lo, hi int) {
		var square uint64 // 2^10 terms below 2^54
		for _, x := range num[lo:hi] {
			square += uint64(x * x)
		}
		part := make([]int64, len(vs))
		for i, v := range vs {
			if v.Width() == gradients.Int8 {
				part[i] = dot(num[lo:hi], v.Int8s()[lo:hi])
			} else {
				part[i] = dot(num[lo:hi], v.Int16s()[lo:hi])
			}
		}
		mu.Lock()
		defer mu.Unlock()
		squared.Add(squared, new(big.Int).SetUint64(square))
		for i, x := range part { // integers: the order of blocks does not matter
			products[i] += x
		}
	})
	return squared, products
}

func dot[E int8 | int16](num []int64, q []E) (sum int64) {
	q = q[:len(num)]
	for k, x := range num {
		sum += x * int64(q[k])
	}
	return sum
}

// measure writes to squares the squared distances of all points from the place that the weights
// give, times unit, which depends on the weights.
func (h *hull) measure(a0 uint64, a []uint64) {
	b, sum := make([]uint64, len(h.vectors)), a0
	for i, x := range a {
		sum += x
		for _, l := range h.membersOf(i) {
			b[l] += x
		}
	}
	s := big.NewInt(int64(h.size()))
	total := new(big.Int).SetUint64(sum * uint64(h.size())) // B
	centre := new(big.Int).Mul(s, new(big.Int).SetUint64(a0))
	g2 := big.NewInt(h.g * h.g)

	// First squares_i = g^2 sum of b_j |x_j - x_l|^2 + b_0 (g |m - x_l|)^2, over all j and the
	// members l of y_i. In twice = 2 g^2 H the first term counts once, the second twice.
	to := h.weighted(b)
	twice, part, weight := new(big.Int), &h.scratch[0], &h.scratch[1]
	for i, square := range h.squares {
		var hi, lo, carry uint64
		for _, l := range h.membersOf(i) {
			lo, carry = bits.Add64(lo, to[l].lo, 0)
			hi += to[l].hi + carry
		}
		square.SetUint64(hi)
		square.Add(square.Lsh(square, 64), part.SetUint64(lo))
		square.Mul(square, g2)
		twice.Add(twice, part.Mul(square, weight.SetUint64(a[i])))
		if h.centre != nil {
			square.Add(square, part.Mul(centre, h.centre[i]))
			twice.Add(twice, part.Lsh(part.Mul(part, weight), 1))
		}
	}
	// Then (s g B)^2 |v - y_i|^2 = s B squares_i - s^2 g^2 H - (g B)^2 within_i.
	gB2 := new(big.Int).Mul(total, total)
	gB2.Mul(gB2, g2)
	h.unit.Mul(gB2, part.Mul(s, s))
	shift := twice.Rsh(twice.Mul(twice, part), 1)
	sB := new(big.Int).Mul(s, total)
	for i, square := range h.squares {
		square.Sub(square.Mul(square, sB), shift)
		if h.members != nil {
			square.Sub(square, part.Mul(gB2, h.within[i]))
		}
	}
}

// uint128 is hi*2^64 + lo.
type uint128 struct{ hi, lo uint64 }

// weighted returns, for each vector, its squared distances summed with the weights b.
func (h *hull) weighted(b []uint64) []uint128 {
	sums := make([]uint128, len(b))
	for l := range sums {
		var hi, lo, carry uint64
		for j, sq := range h.pairs.Row(l) {
			termHi, termLo := bits.Mul64(b[j], uint64(sq))
			lo, carry = bits.Add64(lo, termLo, 0)
			hi += termHi + carry
		}
		sums[l] = uint128{hi, lo}
	}
	return sums
}

// lengths returns the integer parts of the distances that measure wrote, in grid steps.
func (h *hull) lengths() []int64 {
	out := make([]int64, len(h.squares))
	for i, square := range h.squares {
		out[i] = int64(root(h.scratch[0].Quo(square, &h.unit).Uint64()))
	}
	return out
}

// share divides 2^weightBits among the weights in proportion, each share rounded down. It returns what each weight lost
// by the rounding, on one scale, and the rest: less than the number of weights.
func share(a []uint64) (shares []int64, lost []uint64, left int64) {
	var sum uint64
	for _, x := range a {
		sum += x
	}
	shares, lost, left = make([]int64, len(a)), make([]uint64, len(a)), 1<<weightBits
	for i, x := range a {
		hi, lo := bits.Mul64(x, 1<<weightBits)
		var q uint64
		q, lost[i] = bits.Div64(hi, lo, sum) // a share is at most 2^weightBits, so hi < sum
		shares[i] = int64(q)
		left -= shares[i]
	}
	return shares, lost, left
}

// shareAll is share with the rest given one by one to the weights with the largest loss, at equal
// loss to the lower position.
func shareAll(a []uint64) []int64 {
	shares, lost, left := share(a)
	order := ascending(len(a))
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(lost[j], lost[i]), cmp.Compare(i, j)) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// weigh returns the sum of shares times points, as weights of the vectors.
func (p points) weigh(shares []int64) []int64 {
	weights := make([]int64, len(p.vectors))
	for i, c := range shares {
		for _, k := range p.membersOf(i) {
			weights[k] += c
		}
	}
	return weights
}

// ratioRoot returns 2^precision times the square root of num/den, rounded down, but at most
// 2^precision; precision is at most 31. Neither may be negative; 0/0 counts as 1.
func (h *hull) ratioRoot(num, den *big.Int, precision uint) uint64 {
	if num.Cmp(den) >= 0 {
		return 1 << precision
	}
	x := &h.scratch[0]
	return root(x.Quo(x.Lsh(num, 2*precision), den).Uint64())
}

// root returns the square root of x, rounded down, by Newton's method in integers: from above, each
// step falls until the floor is reached.
func root(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(x) + 1) / 2) // above the root, or 2^32
	for {
		next := (r + x/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}
