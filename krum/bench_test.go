package krum

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/gradients"
)

// BenchmarkKrum is a validator's whole work on a round: distances and selection.
func BenchmarkKrum(b *testing.B) {
	for _, n := range []int{4, 10, 30, 100} {
		for _, d := range []int{1970, 7850, 101770, 1000000} {
			b.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(b *testing.B) {
				vs := generate(n, d, 32, 1)
				b.SetBytes(int64(n * d))
				for b.Loop() {
					if _, err := Select(gradients.Pairwise(vs), 1, Options{N: n, F: (n - 1) / 3}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkSelect is the selection alone.
func BenchmarkSelect(b *testing.B) {
	for _, unsquared := range []bool{false, true} {
		for _, n := range []int{4, 30, 100, 1000} {
			b.Run(fmt.Sprintf("unsquared=%t/n=%d", unsquared, n), func(b *testing.B) {
				d := gradients.Pairwise(generate(n, 1970, 32, 1))
				for b.Loop() {
					if _, err := Select(d, 1, Options{N: n, F: (n - 1) / 3, Unsquared: unsquared}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
