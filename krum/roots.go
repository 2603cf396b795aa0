package krum

import (
	"math/big"
	"math/bits"
)

// rootBits is the number of fractional bits of a distance in the unsquared variant. The root of a
// narrow squared distance then has less than 50 bits, and the sum over all neighbours less than 62.
const rootBits = 24

// fixedRoot returns floor(sqrt(x) * 2^rootBits) for x < 2^narrowBits, by Newton's method in
// integers. It starts above the root, and each step decreases until the floor is reached.
func fixedRoot(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	hi, lo := x>>(64-2*rootBits), x<<(2*rootBits)
	// This start is above the root, by less than a factor of four.
	root := uint64(1) << (rootBits + (bits.Len64(x)+1)/2)
	for {
		quotient, _ := bits.Div64(hi, lo, root) // hi < 2^35, and root > hi because root^2 > hi*2^64
		next := (root + quotient) / 2
		if next >= root {
			return root
		}
		root = next
	}
}

// wideRoot returns fixedRoot for an arbitrary x that is not negative.
func wideRoot(x *big.Int) *big.Int {
	root := new(big.Int).Lsh(x, 2*rootBits)
	return root.Sqrt(root)
}
