package gradients

import "fmt"

// Mean returns the mean of vs: Num[j] is the sum of coordinate j, Den is len(vs). It panics if vs
// is empty or shapes differ.
func Mean(vs []Vector) Fraction {
	ones := make([]int64, len(vs))
	for i := range ones {
		ones[i] = 1
	}
	return WeightedMean(vs, ones)
}

// WeightedMean returns the mean of vs in which vector i counts weights[i] times: Num[j] is the sum
// of weights[i]*vs[i]_j, Den is the sum of the weights. |Num[j]| <= Max*Den < 2^47.
//
// It panics if shapes differ, a weight is negative, or the weights' sum is outside [1, MaxDenominator].
func WeightedMean(vs []Vector, weights []int64) Fraction {
	w, d := Shape(vs)
	if len(weights) != len(vs) {
		panic(fmt.Sprintf("gradients: %d weights for %d vectors", len(weights), len(vs)))
	}
	f := Fraction{Num: make([]int64, d)}
	for i, c := range weights {
		if c < 0 || c > MaxDenominator {
			panic(fmt.Sprintf("gradients: weight %d is %d, want 0 to %d", i, c, MaxDenominator))
		}
		f.Den += c
	}
	if f.Den < 1 || f.Den > MaxDenominator {
		panic(fmt.Sprintf("gradients: weights sum to %d, want 1 to %d", f.Den, MaxDenominator))
	}
	if w == Int8 {
		sumRows(f.Num, rowsOf(vs, weights, Vector.Int8s))
	} else {
		sumRows(f.Num, rowsOf(vs, weights, Vector.Int16s))
	}
	return f
}

// row is a vector with its weight.
type row[E int8 | int16] struct {
	q     []E
	times int64
}

// rowsOf returns the vectors with a weight other than 0, and adds rows of weight 0 to make their
// number a multiple of four.
func rowsOf[E int8 | int16](vs []Vector, weights []int64, coordinates func(Vector) []E) []row[E] {
	rows := make([]row[E], 0, len(vs)+3)
	for i, v := range vs {
		if weights[i] > 0 {
			rows = append(rows, row[E]{coordinates(v), weights[i]})
		}
	}
	for len(rows)%4 > 0 {
		rows = append(rows, row[E]{rows[0].q, 0})
	}
	return rows
}

// sumRows writes the weighted sums of rows to num, four rows at a time to save loads and stores.
func sumRows[E int8 | int16](num []int64, rows []row[E]) {
	InBlocks(len(num), len(rows), func(lo, hi int) {
		sum := num[lo:hi]
		for r := 0; r < len(rows); r += 4 {
			r0, r1, r2, r3 := rows[r], rows[r+1], rows[r+2], rows[r+3]
			q0, q1, q2, q3 := r0.q[lo:hi], r1.q[lo:hi], r2.q[lo:hi], r3.q[lo:hi]
			q0, q1, q2, q3 = q0[:len(sum)], q1[:len(sum)], q2[:len(sum)], q3[:len(sum)]
			for j := range sum {
				sum[j] += r0.times*int64(q0[j]) + r1.times*int64(q1[j]) + r2.times*int64(q2[j]) + r3.times*int64(q3[j])
			}
		}
	})
}
