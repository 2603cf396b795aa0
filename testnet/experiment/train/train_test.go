package train_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/experiment/train/traintest"
)

// TestPrototypeAveragesAll: the prototype's SPDL, whose f is the number of attackers, is DP bit for
// bit where nobody attacks, and SPDL with f = (N-1)/3 is not. With attackers it leaves as many out.
func TestPrototypeAveragesAll(t *testing.T) {
	data := traintest.Task(t)
	model := func(name string, byzantine int) []float64 {
		s, err := train.Attacked(name, 7, byzantine, "constant")
		require.NoError(t, err)
		s.Params.Training.Rounds, s.Seed = 4, 7
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.Zero(t, out.Rows[3][6], "%s selects no attacker", name)
		return out.Model
	}
	require.Equal(t, model(train.DP, 0), model(train.SPDLPrototype, 0))
	require.NotEqual(t, model(train.SPDLMulti, 0), model(train.SPDLPrototype, 0))
	require.NotEqual(t, model(train.SPDLMulti, 1), model(train.SPDLPrototype, 1))
	require.Equal(t, model(train.SPDLMulti, 2), model(train.SPDLPrototype, 2), "f = (N-1)/3")
}

// TestHonestNoise: what the accountant asks for makes epsilon true, and Lemma 1's noise does not,
// with batches of fixed size.
func TestHonestNoise(t *testing.T) {
	paper := func() train.Spec {
		s, err := train.Paper(train.SPDL, 10)
		require.NoError(t, err)
		return s
	}
	spends := func(s train.Spec, err error) float64 {
		require.NoError(t, err)
		_, err = s.Params.Validate(10)
		require.NoError(t, err)
		epsilon, err := accountant.Epsilon(accountant.RDP, 1e-6,
			accountant.Step{Mechanism: preset.MechanismOf(s.Params.Privacy), Rounds: 100})
		require.NoError(t, err)
		return epsilon
	}
	for _, e := range []float64{0.02, 0.4} {
		require.InEpsilon(t, e, spends(train.Honest(paper(), e, true)), 0.01)
		require.InEpsilon(t, e, spends(train.Honest(paper(), e, false)), 0.01)
		require.Greater(t, spends(train.Lemma1(paper(), e)), 7*e)
	}
}

// TestLiteralSilence: where a silent participant counts as the zero vector, as the paper has it,
// the f = 2 silent of 7 make Krum choose zero in every round, and the model never moves. On the
// preset paper they are left out.
func TestLiteralSilence(t *testing.T) {
	data := traintest.Task(t)
	for name, moves := range map[string]bool{"paper": true, "paper-literal": false} {
		out, err := train.Run(t.Context(), traintest.Spec(t, name, 7, 2, "silent"), data)
		require.NoError(t, err)
		moved := slices.ContainsFunc(out.Model, func(x float64) bool { return x != 0 })
		require.Equal(t, moves, moved, name)
	}
}

// TestSentAgain: a node that is behind and asks for the round before gets what it
// got, and changes nothing of what follows.
func TestSentAgain(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "paper", 4, 1, "minus-mean")
	open := func(round uint64) train.Open {
		return train.Open{Round: round, Model: make([]float64, s.Params.Model.Dim())}
	}
	plain, err := train.NewParticipants(s, data.Train)
	require.NoError(t, err)
	var want []gradients.Vector
	for round := range uint64(3) {
		want = append(want, plain.Vector(0, open(round)))
	}
	behind, err := train.NewParticipants(s, data.Train)
	require.NoError(t, err)
	require.Equal(t, want[0], behind.Vector(0, open(0)))
	require.Equal(t, want[1], behind.Vector(0, open(1)))
	require.Equal(t, want[0], behind.Vector(0, open(0)), "again")
	require.Equal(t, want[2], behind.Vector(0, open(2)))
	require.Zero(t, behind.Vector(0, open(0)).Len(), "long closed everywhere")
	late, err := train.NewParticipants(s, data.Train)
	require.NoError(t, err)
	require.Equal(t, want[2], late.Vector(0, open(2)), "all were at the same model")
	require.Zero(t, late.Vector(0, open(1)).Len(), "never made")
}

// TestRunIsAFunction: a spec gives one table, and learns.
func TestRunIsAFunction(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "paper", 4, 1, "gaussian", func(p *params.Params) { p.Training.Rounds = 8 })
	s.Every = 3
	first, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Len(t, first.Rows, 3, "rounds 3, 6 and the last")
	require.Len(t, first.Rows[0], len(train.Columns))
	require.Less(t, first.Rows[2][1], first.Rows[0][1])
	again, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Equal(t, first.Model, again.Model)
	require.Equal(t, fmt.Sprint(first.Rows), fmt.Sprint(again.Rows), "as text, for NaN")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = train.Run(ctx, s, data)
	require.ErrorIs(t, err, context.Canceled)
	s.Attack = "explode"
	_, err = train.Run(context.Background(), s, data)
	require.ErrorContains(t, err, "explode")
}

// TestRefused: what the noise floor does not admit counts as silence, and its
// aware variant is admitted.
func TestRefused(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "default", 7, 2, "constant")
	out, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Equal(t, 2.0, out.Rows[3][7])
	s.Every = 0
	out, err = train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Equal(t, 8.0, out.Rows[0][7], "of all four rounds")
	s.Every = 1
	s.Attack = "aware+constant"
	out, err = train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Equal(t, 0.0, out.Rows[3][7])
}

// TestFloat32: without a chain the prototype's attack ruins the mean, which
// learns where nobody attacks; and what it cannot do it says.
func TestFloat32(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "paper", 10, 0, "", traintest.Rule("mean"), func(p *params.Params) { p.Training.Rounds = 30 })
	s.Every, s.Float32 = 0, true
	clean, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Less(t, clean.Rows[0][1], 0.3)
	s.Float32 = false
	onChain, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.InDelta(t, onChain.Rows[0][1], clean.Rows[0][1], 0.01, "without attackers the arithmetic does not matter")
	s.Float32, s.Byzantine, s.Attack = true, 3, "constant"
	attacked, err := train.Run(context.Background(), s, data)
	require.NoError(t, err)
	require.Greater(t, attacked.Rows[0][1], 0.5)
	s.Attack = "zero"
	_, err = train.Run(context.Background(), s, data)
	require.ErrorContains(t, err, "zero")
	s.Params.Rule.Name = "krum"
	_, err = train.Run(context.Background(), s, data)
	require.ErrorContains(t, err, "krum")
}

// TestSumsOfWorkers: workers whose vectors are sums train the model that single gradients train, with the same
// noise, but for the rounding to the grid and what follows from it.
func TestSumsOfWorkers(t *testing.T) {
	data, models, step := traintest.Task(t), [2][]float64{}, 0.0
	for momentum := range models {
		s := traintest.Spec(t, "default", 4, 0, "", traintest.Rule("mean"), func(p *params.Params) {
			p.Training.Rounds, p.Training.LearningRate, p.Grid.Width = 6, 5, 2
			p.Privacy.SamplingRate, p.Privacy.Batch, p.Privacy.NoiseFloor = 1, 500, true
			p.Privacy.WorkerMomentum, p.Privacy.NoiseMultiplier = 0, 2.67
			train.Regrid(p)
			p.Privacy.WorkerMomentum = float64(momentum)
		})
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.Zero(t, at(t, s, out.Rows[5], "refused"))
		models[momentum] = out.Model
		step = s.Params.Grid.Step * s.Params.Training.LearningRate
	}
	far, size := 0.0, 0.0
	for j, x := range models[0] {
		far, size = max(far, math.Abs(x-models[1][j])), max(size, math.Abs(x))
	}
	t.Logf("grid %g, difference %g, model %g", step, far, size)
	require.Less(t, far, 4*step) // half a step a round and a sum, 3.5 in all, and what gradients make of it
	require.Greater(t, size, 100*step)
}
