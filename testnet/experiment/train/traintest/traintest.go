// Package traintest has small trainings for the tests of package train and of the simulator.
package traintest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// Task returns 2,000 training and 500 test images of MNIST.
func Task(t *testing.T) mnist.Data {
	t.Helper()
	data, err := mnist.Embedded()
	require.NoError(t, err)
	cut := func(s mnist.Set, n int) mnist.Set {
		index := make([]int, n)
		for i := range index {
			index[i] = i
		}
		return s.Subset(index)
	}
	return mnist.Data{Train: cut(data.Train, 2000), Test: cut(data.Test, 500)}
}

// Spec returns a training of a preset on Task for 4 rounds.
func Spec(t *testing.T, name string, n, byzantine int, attack string, mutate ...func(*params.Params)) train.Spec {
	t.Helper()
	p, err := preset.New(name, n)
	require.NoError(t, err)
	p.Training.Rounds = 4
	if p.Privacy.SamplingRate > 0 { // the small part's batch
		p.Privacy.Batch = uint32(2000 / n / 10)
		train.Regrid(&p)
	}
	for _, m := range mutate {
		m(&p)
	}
	require.NoError(t, preset.Account(&p))
	return train.Spec{Params: p, Nodes: n, Byzantine: byzantine, Attack: attack, Seed: 7, Every: 1}
}

// Rule returns a change of the rule.
func Rule(name string) func(*params.Params) { return func(p *params.Params) { p.Rule.Name = name } }
