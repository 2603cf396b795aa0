package privacy_test

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// The aim is under 0.5 ms for d=7850.
func BenchmarkNormal(b *testing.B) {
	for _, d := range []int{1970, 7850} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			src, dst := privacy.NewSecureSource(), make([]float64, d)
			for b.Loop() {
				src.Normal(dst)
			}
		})
	}
}

// Exact draws, at the sigma of a mechanism's lattice.
func BenchmarkDiscreteNormal(b *testing.B) {
	for _, d := range []int{1970, 7850} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			g, err := privacy.NewDiscreteGaussian(1<<53+1, 1)
			if err != nil {
				b.Fatal(err)
			}
			src, dst := privacy.NewSecureSource(), make([]int64, d)
			for b.Loop() {
				src.DiscreteNormal(dst, g)
			}
		})
	}
}

func BenchmarkRelease(b *testing.B) {
	for _, d := range []int{1970, 7850} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			grid := gradients.Grid{Width: gradients.Int8, Step: privacy.StepFor(usual)}
			m, sum := mechanism(b, usual, grid, d, privacy.NewSecureSource()), make([]float64, d)
			b.ReportAllocs()
			for b.Loop() {
				m.Release(sum)
			}
		})
	}
}

func BenchmarkPoissonSample(b *testing.B) {
	b.Run("n=15000/q=0.1", func(b *testing.B) {
		src := privacy.NewSecureSource()
		var dst []int
		for b.Loop() {
			dst = privacy.PoissonSample(dst[:0], 15000, 0.1, src)
		}
	})
}

func BenchmarkFixedSample(b *testing.B) {
	b.Run("n=15000/b=100", func(b *testing.B) {
		src := privacy.NewSecureSource()
		var dst []int
		for b.Loop() {
			dst = privacy.FixedSample(dst[:0], 15000, 100, src)
		}
	})
}
