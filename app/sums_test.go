package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// sending closes a round with a vector of each participant.
func sending(t *testing.T, s *app.State, vectors []gradients.Vector) *app.State {
	t.Helper()
	var pending []*tx.Tx
	for i, v := range vectors {
		pending = append(pending, apptest.Sign(i, &tx.Gradient{Epoch: s.Progress.Epoch, Round: s.Progress.Round,
			Participant: uint32(i), Payload: v.Encode(), VrfProof: apptest.Proof(s, i)}))
	}
	leader := s.Progress.Ranking[0]
	a, err := s.DraftAggregate(s.Height+1, leader, pending)
	require.NoError(t, err)
	out, err := s.Execute(app.Block{Height: s.Height + 1,
		Txs: s.Assemble(s.Height+1, append(pending, apptest.Sign(int(leader), a)), 0)})
	require.NoError(t, err)
	return out.State
}

func constant(d int, value int64) gradients.Vector {
	v := gradients.NewVector(gradients.Int16, d)
	for j := range d {
		v.Set(j, value)
	}
	return v
}

func meanOf(sums bool) *app.State {
	return apptest.State(4, apptest.Summed, func(p *params.Params) {
		p.Rule.Name = "mean"
		if !sums {
			p.Privacy.WorkerMomentum = 0
		}
	})
}

// TestSumsAreDescent: with the rule mean, the sums of gradients lead to the models to which the gradients lead
// one by one.
func TestSumsAreDescent(t *testing.T) {
	single, summed := meanOf(false), meanOf(true)
	sums := make([]gradients.Vector, 4)
	for i := range sums {
		sums[i] = constant(8, 0)
	}
	for round := range uint64(12) {
		each := make([]gradients.Vector, 4)
		for i := range each {
			each[i] = apptest.Vector(gradients.Int8, 8, round, uint64(i))
			own := gradients.NewVector(gradients.Int16, 8)
			for j := range 8 {
				own.Set(j, each[i].At(j))
				sums[i].Set(j, sums[i].At(j)+each[i].At(j))
			}
			each[i] = own
		}
		single, summed = sending(t, single, each), sending(t, summed, sums)
		require.InDeltaSlice(t, single.Model, summed.Model, 1e-12, "round %d", round)
		require.NotEqual(t, make([]float64, 8), summed.Model)
	}
}

// TestSumsDoNotAddUp: a participant that sends the same vector in every round moves a model of sums by it once,
// and any other model once a round. What it sent before is forgotten.
func TestSumsDoNotAddUp(t *testing.T) {
	for sums, times := range map[bool]float64{true: 1, false: 10} {
		s := meanOf(sums)
		push := []gradients.Vector{constant(8, 64), constant(8, 0), constant(8, 0), constant(8, 0)}
		for range 10 {
			s = sending(t, s, push)
		}
		require.InDelta(t, -0.5*64./64/4*times, s.Model[3], 1e-12)
		push[0] = constant(8, 0)
		s = sending(t, s, push)
		require.Equal(t, sums, s.Model[3] == 0)
	}
}

// TestSumsBeginWithAnEpoch: the model from which sums move is that of the epoch's beginning, new or kept. It is
// part of the state, its hash and its stored form.
func TestSumsBeginWithAnEpoch(t *testing.T) {
	s := apptest.State(4, apptest.Summed)
	require.Equal(t, s.Model, s.Velocity)
	first := round(t, s).State
	require.NotEqual(t, first.Model, first.Velocity)
	require.Equal(t, s.Model, first.Velocity)
	again, err := app.DecodeState(first.Height, first.Encode())
	require.NoError(t, err)
	require.Equal(t, first.Hash(), again.Hash())
	again.Velocity[3]++
	again, err = app.DecodeState(first.Height, again.Encode())
	require.NoError(t, err)
	require.NotEqual(t, first.Hash(), again.Hash())

	for _, keep := range []bool{true, false} {
		next := round(t, first, agreed(another(first, keep, true, func(p *params.Params) { p.Preset = "next" }))...).State
		require.Equal(t, next.Model, next.Velocity)
		require.Equal(t, keep, next.Model[0] != 0)
		require.Equal(t, next.Model, round(t, next).State.Velocity)
	}
	require.Nil(t, round(t, first, agreed(another(first, true, true,
		func(p *params.Params) { p.Privacy.WorkerMomentum = 0 }))...).State.Velocity)
}

// TestSumsThatMissRounds: G6 allows for a sum of any number of gradients from those that rounds included to one a
// round, and the distance floor of the rule does not follow a participant that stays away.
func TestSumsThatMissRounds(t *testing.T) {
	s := apptest.State(4, apptest.Noisy, apptest.Summed, func(p *params.Params) {
		p.Grid.Step, p.Election.QuorumBlocks = 2e-4, 0
	})
	noise := s.Params.Noise()
	s.Progress.Round, s.Participants[1].Releases = 8, 3
	least, greatest := noise.Bounds(4, 9)
	for size := range int64(1500) {
		v := constant(1970, 0)
		v.Set(0, size)
		for j := range 1969 { // of squared norm size*size + 1969*size*size/100
			v.Set(j+1, size/10)
		}
		norm := v.SquaredNorm()
		err := s.Admit(apptest.Sign(1, &tx.Gradient{Round: 8, Participant: 1, Payload: v.Encode(),
			VrfProof: apptest.Proof(s, 1)}))
		require.Equal(t, norm < least || norm > greatest, err != nil, "%d: %v", norm, err)
	}
	require.Equal(t, noise.Distance(9), s.Params.DistanceFloor(8, 1))
	require.InEpsilon(t, 9*float64(noise.Distance(1)), s.Params.DistanceFloor(8, 1), 1e-5)
}
