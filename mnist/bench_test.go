package mnist_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

func BenchmarkFeatures(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	for _, pool := range []int{1, 2} {
		b.Run(fmt.Sprintf("n=10000/pool=%d", pool), func(b *testing.B) {
			for b.Loop() {
				_, err := data.Test.Features(pool, 0, 255)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkPartitionDirichlet(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	b.Run("n=60000/parts=20", func(b *testing.B) {
		for b.Loop() {
			_, err := mnist.PartitionDirichlet(data.Train.Labels, mnist.Classes, 20, 0.5, 1)
			require.NoError(b, err)
		}
	})
}
