package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/sim"
)

// task returns a small part of MNIST.
func task(t *testing.T) mnist.Data {
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

// spec returns a training of a preset for 4 rounds.
func spec(t *testing.T, name string, n, byzantine int, attack string, mutate ...func(*params.Params)) train.Spec {
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

func rule(name string) func(*params.Params) { return func(p *params.Params) { p.Rule.Name = name } }

// TestSameAsTheNet: a cell of each kind of training on one State and on a net
// of N applications gives the same model, bit for bit.
func TestSameAsTheNet(t *testing.T) {
	data := task(t)
	for name, s := range map[string]train.Spec{
		"paper, Krum, constant":          spec(t, "paper", 7, 2, "constant"),
		"paper, mean, clean":             spec(t, "paper", 4, 0, "", rule("mean")),
		"default, bucketing, optimised":  spec(t, "default", 7, 2, "aware+optimised-alie", rule("bucketing+median")),
		"default, NNM, silent":           spec(t, "default", 7, 2, "silent"),
		"default, NNM, refused":          spec(t, "default", 7, 2, "constant"),
		"paper-literal, sign flip":       spec(t, "paper-literal", 7, 2, "sign-flip"),
		"paper-lemma1, sign flip":        spec(t, "paper-lemma1", 4, 1, "sign-flip"),
		"mlp, label flip":                spec(t, "mlp", 7, 2, "label-flip"),
		"Dirichlet, multi-Krum, mimicry": {},
	} {
		t.Run(name, func(t *testing.T) {
			if s.Nodes == 0 {
				s = spec(t, "paper", 7, 2, "mimic", rule("multi-krum"))
				s.Alpha = 0.5
			}
			one, err := train.NewParticipants(s, data.Train)
			require.NoError(t, err)
			solo, err := sim.NewSingle(one.Config())
			require.NoError(t, err)
			for range s.Params.Training.Rounds {
				_, err := solo.Round()
				require.NoError(t, err)
			}
			other, err := train.NewParticipants(s, data.Train)
			require.NoError(t, err)
			net, err := sim.New(other.Config())
			require.NoError(t, err)
			for range 60 {
				if net.State().Finished() {
					break
				}
				_, err := net.Step()
				require.NoError(t, err)
			}
			require.True(t, net.State().Finished())
			require.Equal(t, app.EncodeParameters(net.State().Model), app.EncodeParameters(solo.State().Model))
			require.NotEqual(t, make([]float64, len(solo.State().Model)), solo.State().Model)
		})
	}
}
