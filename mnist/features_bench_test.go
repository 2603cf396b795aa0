package mnist_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist/features"
)

// What one image costs on one core. The aim is 0.2 ms at n=28.
func BenchmarkRow(b *testing.B) {
	for _, side := range []int{14, 28, 32} {
		b.Run(fmt.Sprintf("n=%d", side), func(b *testing.B) {
			s := digits(b, side, 100)
			m, err := features.New(side)
			require.NoError(b, err)
			row := make([]float32, features.Inputs)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Row(row, s.Image(i%s.Len()))
			}
		})
	}
}

func BenchmarkStrokes(b *testing.B) {
	b.Run("n=28/images=10000", func(b *testing.B) {
		s := digits(b, 28, 10000)
		for b.Loop() {
			_, err := features.Strokes(s, nil)
			require.NoError(b, err)
		}
	})
}
