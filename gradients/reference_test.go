package gradients

import "math/big"

// The references of this file are deliberately dumb: one coordinate at a time, in big integers,
// through At alone. They share no code with what they check.

func refDot(a, b Vector) *big.Int {
	sum := new(big.Int)
	for k := range a.Len() {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(a.At(k)), big.NewInt(b.At(k))))
	}
	return sum
}

func refSquaredDistance(a, b Vector) *big.Int {
	sum := new(big.Int)
	for k := range a.Len() {
		d := new(big.Int).Sub(big.NewInt(a.At(k)), big.NewInt(b.At(k)))
		sum.Add(sum, d.Mul(d, d))
	}
	return sum
}

// naiveSquaredDistance is for sizes at which big integers take too long.
func naiveSquaredDistance(a, b Vector) (sum int64) {
	for k := range a.Len() {
		sum += (a.At(k) - b.At(k)) * (a.At(k) - b.At(k))
	}
	return sum
}

// fraction returns coordinate j of f as a rational.
func fraction(f Fraction, j int) *big.Rat { return big.NewRat(f.Num[j], f.Den) }
