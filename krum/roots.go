package krum

import (
	"cmp"
	"math/big"
	"math/bits"

	"github.com/spdl/spdl/gradients"
)

// rootBits are the fractional bits of a root in the fast path: a root of a narrow distance then has less than 50 bits,
// and the sum of all neighbours' less than 62.
const rootBits = 24

// rootScores fills r.Score with the integer parts of the sums of distances and returns the exact comparison of these
// sums.
func rootScores(d *gradients.Distances, r *Result, floor int64) (compare func(i, j int) int) {
	sums := make([]uint64, len(r.Neighbours))
	for i, near := range r.Neighbours {
		for _, j := range near {
			sums[i] += fixedRoot(uint64(max(d.At(i, j), floor)))
		}
		r.Score[i] = int64(sums[i] >> rootBits)
	}
	terms := func(i int) []int64 {
		t := make([]int64, len(r.Neighbours[i]))
		for k, j := range r.Neighbours[i] {
			t[k] = max(d.At(i, j), floor)
		}
		return t
	}
	return func(i, j int) int {
		// Each root was rounded down by less than one unit, so the sum lies in [sums, sums+q).
		q := uint64(len(r.Neighbours[i]))
		switch {
		case sums[i]+q <= sums[j]:
			return -1
		case sums[j]+q <= sums[i]:
			return 1
		}
		a, b := cancel(terms(i), terms(j), cmp.Compare[int64])
		return compareRootSums(bigs(a), bigs(b))
	}
}

// fixedRoot returns floor(sqrt(x) * 2^rootBits) for x < 2^narrowBits, by Newton's method in integers: from above, each
// step falls until the floor is reached.
func fixedRoot(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	hi, lo := x>>(64-2*rootBits), x<<(2*rootBits)
	root := uint64(1) << (rootBits + (bits.Len64(x)+1)/2) // above the root, less than four times as large
	for {
		quotient, _ := bits.Div64(hi, lo, root) // hi < 2^35, and root > hi because root^2 > hi*2^64
		next := (root + quotient) / 2
		if next >= root {
			return root
		}
		root = next
	}
}

// cancel returns what remains of the ascending lists a and b once common elements are struck out, one for one. It
// reuses the lists' memory.
func cancel[T any](a, b []T, compare func(T, T) int) (restA, restB []T) {
	restA, restB = a[:0], b[:0]
	for len(a) > 0 && len(b) > 0 {
		switch compare(a[0], b[0]) {
		case -1:
			restA, a = append(restA, a[0]), a[1:]
		case 1:
			restB, b = append(restB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return append(restA, a...), append(restB, b...)
}

// compareRootSums compares the sums of the square roots of a and b, which must not be negative, exactly.
//
// Intervals of rising precision decide unless the sums are equal; equality is decided by algebra, once the first
// precision has failed to.
func compareRootSums(a, b []*big.Int) int {
	for precision := uint(64); ; precision *= 2 {
		sumA, sumB := rootSum(a, precision), rootSum(b, precision)
		gap := new(big.Int).Sub(sumA, sumB)
		// The sums lie in [sumA, sumA+len(a)] and [sumB, sumB+len(b)], and at the upper end only if the list is empty.
		switch {
		case len(a) == 0 && len(b) == 0:
			return 0
		case gap.Cmp(big.NewInt(int64(len(b)))) >= 0 && gap.Sign() > 0:
			return 1
		case gap.Neg(gap).Cmp(big.NewInt(int64(len(a)))) >= 0 && gap.Sign() > 0:
			return -1
		case precision == 64 && equalRootSums(a, b):
			return 0
		}
	}
}

// rootSum returns the sum of floor(sqrt(x) * 2^precision).
func rootSum(xs []*big.Int, precision uint) *big.Int {
	sum, root := new(big.Int), new(big.Int)
	for _, x := range xs {
		sum.Add(sum, root.Sqrt(root.Lsh(x, 2*precision)))
	}
	return sum
}

// equalRootSums decides whether the sums of the square roots of a and b are equal.
//
// Two positive integers x and y are in one class if x*y is a perfect square, that is if they have the same squarefree
// part. Then sqrt(y) = sqrt(x*y)/sqrt(x), so the signed sum over a class is an integer divided by the root of the
// class's first member. Square roots of different squarefree integers are linearly independent over the rationals
// (Besicovitch 1940), so all these integers must be 0.
func equalRootSums(a, b []*big.Int) bool {
	type class struct{ first, sum *big.Int }
	var classes []class
	product, root, square := new(big.Int), new(big.Int), new(big.Int)
	add := func(x *big.Int, negative bool) {
		if x.Sign() == 0 {
			return
		}
		for _, c := range classes {
			product.Mul(c.first, x)
			if root.Sqrt(product); square.Mul(root, root).Cmp(product) == 0 {
				if negative {
					root.Neg(root)
				}
				c.sum.Add(c.sum, root)
				return
			}
		}
		sum := new(big.Int).Set(x) // the root of x*x
		if negative {
			sum.Neg(sum)
		}
		classes = append(classes, class{x, sum})
	}
	for _, x := range a {
		add(x, false)
	}
	for _, x := range b {
		add(x, true)
	}
	for _, c := range classes {
		if c.sum.Sign() != 0 {
			return false
		}
	}
	return true
}

// bigs converts.
func bigs(xs []int64) []*big.Int {
	out := make([]*big.Int, len(xs))
	for i, x := range xs {
		out[i] = big.NewInt(x)
	}
	return out
}
