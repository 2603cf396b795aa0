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

// BenchmarkSortKeys shows where fewKeys belongs.
func BenchmarkSortKeys(b *testing.B) {
	for _, n := range []int{30, 50, 64, 65, 100, 300, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			d := gradients.Pairwise(generate(n, 1970, 32, 1))
			keys, spare := make([]uint64, 0, n), make([]uint64, n)
			for i := 0; b.Loop(); i = (i + 1) % n { // a row that comes again and again would be foreseen
				keys = appendKeys(keys[:0], d.Row(i), i, 0)
				sortKeys(keys, spare)
			}
		})
	}
}
