package model_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/mnist"
)

// BenchmarkClippedSum measures the cost of a round for a worker, on real MNIST and one core. The
// aim is under 2 ms for softmax/d=1970/batch=1500.
func BenchmarkClippedSum(b *testing.B) {
	for _, c := range []struct {
		name  string
		pool  int
		spec  model.Spec
		batch int
	}{
		{"softmax", 2, model.Spec{Inputs: 196, Classes: 10}, 1500},
		{"softmax", 1, model.Spec{Inputs: 784, Classes: 10}, 100},
		{"softmax", 1, model.Spec{Inputs: 784, Classes: 10}, 4500},
		{"softmax", 0, model.Spec{Inputs: 160, Classes: 10, NoBias: true}, 4500}, // the default preset's, on random inputs
		{"mlp", 2, model.Spec{Inputs: 196, Hidden: 32, Classes: 10}, 1500},
	} {
		b.Run(fmt.Sprintf("%s/d=%d/batch=%d", c.name, c.spec.Dim(), c.batch), func(b *testing.B) {
			x, labels := batch(c.spec, c.batch, 1)
			if c.pool > 0 {
				x, labels = digits(b, c.pool, c.batch)
			}
			m, err := model.New(c.spec)
			require.NoError(b, err)
			params := uniform(c.spec.Dim(), 0.1, 1)
			dst := make([]float64, m.Dim())
			b.ReportAllocs()
			for b.Loop() {
				m.ClippedSum(dst, params, x, labels, 1)
			}
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, spec := range []model.Spec{{Inputs: 196, Classes: 10}, {Inputs: 196, Hidden: 32, Classes: 10}} {
		b.Run(fmt.Sprintf("d=%d/n=10000", spec.Dim()), func(b *testing.B) {
			x, labels := digits(b, 2, 10000)
			m, err := model.New(spec)
			require.NoError(b, err)
			params := uniform(spec.Dim(), 0.1, 1)
			for b.Loop() {
				m.Evaluate(params, x, labels)
			}
		})
	}
}

// digits is the beginning of MNIST's training set.
func digits(tb testing.TB, pool, n int) (x []float32, labels []uint8) {
	data, err := mnist.Embedded()
	require.NoError(tb, err)
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	f, err := data.Train.Subset(index).Features(pool, 0, 255)
	require.NoError(tb, err)
	return f.X, f.Labels
}
