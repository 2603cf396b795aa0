package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/experiment/train/traintest"
	"github.com/spdl/spdl/testnet/sim"
)

// TestSameAsTheNet: a cell of each kind of training on one State and on a net
// of N applications gives the same model, bit for bit.
func TestSameAsTheNet(t *testing.T) {
	data := traintest.Task(t)
	for name, s := range map[string]train.Spec{
		"paper, Krum, constant": traintest.Spec(t, "paper", 7, 2, "constant"),
		"paper, mean, clean":    traintest.Spec(t, "paper", 4, 0, "", traintest.Rule("mean")),
		"default, bucketing, optimised": traintest.Spec(t, "default", 7, 2, "aware+optimised-alie",
			traintest.Rule("bucketing+median")),
		"default, NNM, silent":           traintest.Spec(t, "default", 7, 2, "silent"),
		"default, NNM, refused":          traintest.Spec(t, "default", 7, 2, "constant"),
		"paper-literal, sign flip":       traintest.Spec(t, "paper-literal", 7, 2, "sign-flip"),
		"paper-lemma1, sign flip":        traintest.Spec(t, "paper-lemma1", 4, 1, "sign-flip"),
		"mlp, label flip":                traintest.Spec(t, "mlp", 7, 2, "label-flip"),
		"Dirichlet, multi-Krum, mimicry": {},
	} {
		t.Run(name, func(t *testing.T) {
			if s.Nodes == 0 {
				s = traintest.Spec(t, "paper", 7, 2, "mimic", traintest.Rule("multi-krum"))
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
