package app_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// another returns participant 0's proposal of the next epoch, with the running parameters after a
// change.
func another(s *app.State, keep, now bool, change func(*params.Params)) *tx.Tx {
	p := s.Params
	change(&p)
	return ring{}.sign(0, app.NewStartEpoch(0, tick(), s.Progress.Epoch+1, p, keep, now))
}

func same(*params.Params) {}

// agreed returns a proposal with enough approvals for N = 4.
func agreed(proposal *tx.Tx) []*tx.Tx { return approved(proposal, 1, 2) }

// TestEpochNow: with now the running epoch is recorded, the parameters are replaced and round 0
// opens, here with the kept model. Participants, reputations, the seed and the ranking carry over.
func TestEpochNow(t *testing.T) {
	s := apptest.State(4, mean)
	for range 3 {
		s = round(t, s).State
	}
	s = round(t, s, equivocation(3, 0, 0)).State
	plain := round(t, s).State
	x := another(s, true, true, func(p *params.Params) {
		p.Training.Rounds, p.Training.LearningRate, p.Rule.Name, p.Election.Term = 3, 0.25, "median", 3
	})
	out := round(t, s, agreed(x)...)
	require.NotNil(t, out.Record)
	require.Equal(t, []app.Enactment{{Kind: tx.KindStartEpoch, Participant: 0, Proposal: id(x)}}, out.Enacted)
	next := out.State
	model := app.ModelHash(plain.Model)
	require.Equal(t, []app.Epoch{{Epoch: 0, Params: s.Params, Rounds: 5, Opened: 1, Closed: next.Height,
		ModelHash: model[:]}}, next.Epochs)
	require.Equal(t, out.Record.ModelHash, next.Epochs[0].ModelHash)
	require.Equal(t, plain.Model, next.Model, "kept, the round of the block included")
	want, err := params.Decode(x.Body.(*tx.StartEpoch).Params)
	require.NoError(t, err)
	require.Equal(t, want, next.Params)
	require.Equal(t, app.Progress{
		Epoch: 1, Round: 0, Opened: next.Height + 1, Began: next.Height + 1, BlockBytes: -1,
		Seed: plain.Progress.Seed, Ranking: plain.Progress.Ranking,
	}, next.Progress, "the seed and the ranking are those of the round")
	require.Empty(t, next.Proposals)
	require.Zero(t, next.Participants[3].Reputation)
	for i, p := range next.Participants {
		require.Equal(t, plain.Participants[i].Reputation, p.Reputation)
		require.EqualValues(t, 5, p.Participations)
	}
	// Transactions for the next round of the old epoch are rejected.
	exactly(t, app.ErrWrongRound, next.Admit(apptest.Gradient(plain, 0)))
	require.False(t, next.Finished())
	for i := range 3 {
		out = round(t, next)
		require.Equal(t, uint64(1), out.Record.Epoch)
		require.Equal(t, uint64(i), out.Record.Round)
		require.Equal(t, "median", out.Record.Rule)
		next = out.State
	}
	require.True(t, next.Finished())
	// An offence that was punished in an old epoch stays punished; another one still can be.
	refused(t, next, app.ErrSettled, equivocation(3, 1, 0))
	require.NoError(t, next.Admit(equivocation(2, 0, 0)))
}

// TestEpochAtTheEnd: without now the epoch waits until training is finished, begins in the block
// that finishes it, and does not affect the rounds before.
func TestEpochAtTheEnd(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 4 })
	s = step(t, s, agreed(another(s, true, false, same))...).State
	for range 3 {
		require.True(t, s.Proposals[0].Accepted)
		require.Zero(t, s.Progress.Epoch)
		s = round(t, s).State
	}
	// A member that joins before then counts when the epoch begins.
	out := round(t, s, approved(apptest.Join(4), 0, 1, 2)...)
	require.Equal(t, []tx.Kind{tx.KindStartEpoch, tx.KindJoin}, []tx.Kind{out.Enacted[0].Kind, out.Enacted[1].Kind})
	require.NoError(t, out.Enacted[0].Refused)
	require.EqualValues(t, 1, out.State.Progress.Epoch)
	require.Zero(t, out.State.Progress.Round)
	require.Zero(t, out.State.Participants[4].Joined)
	require.False(t, out.State.Finished())
	require.EqualValues(t, 4, out.State.Epochs[0].Rounds)
	s = round(t, out.State).State
	require.EqualValues(t, 1, s.Progress.Round)
	require.EqualValues(t, 1, s.Participants[4].Participations)
}

// TestEpochsOn: there is a boundary if the block closed a round or training is finished: in a
// finished chain a block without a round enacts proposals, an epoch among them, and training goes
// on.
func TestEpochsOn(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 2 })
	s = round(t, round(t, s).State).State
	for epoch := uint64(1); epoch <= 3; epoch++ {
		require.True(t, s.Finished())
		for range 40 {
			s = step(t, s).State // an empty block is no boundary
		}
		seed, ranking := s.Progress.Seed, s.Progress.Ranking
		x := another(s, true, false, same)
		s = step(t, s, x, ring{}.approve(1, x)).State
		require.Len(t, s.Proposals, 1)
		out := step(t, s, ring{}.approve(2, x))
		require.Nil(t, out.Record)
		require.Len(t, out.Enacted, 1)
		s = out.State
		require.Equal(t, epoch, s.Progress.Epoch)
		require.Len(t, s.Epochs, int(epoch))
		require.Equal(t, s.Height, s.Epochs[epoch-1].Closed)
		require.Equal(t, s.Height+1, s.Progress.Began)
		require.Equal(t, s.Height+1, s.Progress.Opened, "the first height that could close the open round")
		require.Nil(t, ring{}.closes(s, s.Height+1, 0, 1, 2), "three of four, before the quorum's time")
		_, err := s.DraftAggregate(s.Height+1, ranking[3], apptest.Gradients(s, 0, 1, 2, 3))
		require.ErrorIs(t, err, app.ErrNotLeader, "nor is the last one's view open")
		require.Equal(t, seed, s.Progress.Seed, "no election was held")
		require.Equal(t, ranking, s.Progress.Ranking)
		before := s.Model
		s = round(t, round(t, s).State).State
		require.NotEqual(t, before, s.Model)
		require.Equal(t, uint64(2), s.Progress.Round)
	}
	// Other proposals are enacted, too.
	out := step(t, s, approved(apptest.Join(4), 0, 1, 2)...)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(4), Power: 10}}, out.Validators)
	require.EqualValues(t, 2, out.State.Participants[4].Joined)
	out = step(t, out.State, leave(0), rotate(1, ring{}, 51, 51, 51))
	require.Len(t, out.Enacted, 2)
	require.Len(t, out.Validators, 3)
	require.Equal(t, []uint32{1, 2, 3, 4}, active(out.State))
	require.ElementsMatch(t, []uint32{1, 2, 3}, out.State.Progress.Ranking)
	s = step(t, out.State, equivocation(2, 3, 1)).State
	require.Zero(t, s.Participants[2].Reputation)
	x := another(s, true, false, same)
	x = ring{}.sign(3, x.Body.(*tx.StartEpoch)) // its sender has left
	exactly(t, app.ErrSender, s.Admit(x))
	r := ring{map[uint32]int{1: 51}, map[uint32]int{1: 51}}
	again := ring{}.sign(4, app.NewStartEpoch(4, tick(), 4, s.Params, true, true))
	s = step(t, s, again, ring{}.approve(2, again), ring{}.approve(3, again)).State
	require.EqualValues(t, 4, s.Progress.Epoch)
	require.Zero(t, s.Participants[4].Joined)
	require.Len(t, r.round(t, s).Record.Contributions, 4)
}

// TestEpochRules applies P1 and P2.
func TestEpochRules(t *testing.T) {
	s := round(t, apptest.State(4)).State
	raw := func(change func(*tx.StartEpoch)) *tx.Tx {
		b := *another(s, true, true, same).Body.(*tx.StartEpoch)
		b.Params = bytes.Clone(b.Params)
		change(&b)
		return ring{}.sign(0, &b)
	}
	for _, c := range []struct {
		name string
		want error
		x    *tx.Tx
	}{
		{"the running epoch", app.ErrEpoch, raw(func(e *tx.StartEpoch) { e.Epoch = 0 })},
		{"the epoch after the next", app.ErrEpoch, raw(func(e *tx.StartEpoch) { e.Epoch = 2 })},
		{"the last epoch there is", app.ErrEpoch, raw(func(e *tx.StartEpoch) { e.Epoch = math.MaxUint64 })},
		{"no parameters", app.ErrEpochParams, raw(func(e *tx.StartEpoch) { e.Params = nil })},
		{"parameters are noise", app.ErrEpochParams, raw(func(e *tx.StartEpoch) { e.Params = []byte("noise") })},
		{"parameters with an unknown field", app.ErrEpochParams,
			raw(func(e *tx.StartEpoch) { e.Params = append(e.Params, 0x78, 1) })},
		{"parameters truncated", app.ErrEpochParams, raw(func(e *tx.StartEpoch) { e.Params = e.Params[:len(e.Params)-1] })},
		{"no rounds", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Training.Rounds = 0 })},
		{"unknown rule", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Rule.Name = "best" })},
		{"f too large for N", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Rule.Byzantine = 2 })},
		{"learning rate not a number", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Training.LearningRate = math.NaN() })},
		{"momentum 1", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Training.Momentum = 1 })},
		{"grid width 3", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Grid.Width = 3 })},
		{"reputation above 1", app.ErrEpochParams, another(s, true, true,
			func(p *params.Params) { p.Reputation.Initial = params.One + 1 })},
		{"term too long", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Election.Term = 1<<20 + 1 })},
		{"views too long", app.ErrEpochParams, another(s, true, true, func(p *params.Params) {
			p.Election.ViewBlocks = 1<<20 +
				1
		})},
		{"quorum that overflows", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Election.QuorumBlocks = 1<<64 - 1 })},
		{"preset too long", app.ErrEpochParams, another(s, true, true,
			func(p *params.Params) { p.Preset = strings.Repeat("x", 71) })},
		{"preset that does not print", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Preset = "a\nb" })},
		{"epsilon of another mechanism", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Privacy.PrototypeEpsilon = 1 })},
		{"noise of no mechanism", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Privacy.Mechanism = params.MechanismNone })},
		{"term 0", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Election.Term = 0 })},
		{"tolerance beyond the bound", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Rule.Tolerance = 1000 })},
		{"tolerance without a clip norm", app.ErrEpochParams, another(s, true, true, func(p *params.Params) {
			p.Privacy = params.Privacy{Mechanism: params.MechanismNone, Batch: 8}
			p.Rule.Tolerance = math.MaxInt64
		})},
		{"grid far coarser than the noise", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Grid.Step *= 5 })},
		{"grid far finer than the noise", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Grid.Step /= 50 })},
		{"model too large", app.ErrEpochParams, another(s, false, true, func(p *params.Params) { p.Model.Inputs = 1 << 31 })},
		{"another model kept", app.ErrEpochParams, another(s, true, true, func(p *params.Params) { p.Model.Inputs = 4 })},
		{"another feature map kept", app.ErrEpochParams,
			another(s, true, true, func(p *params.Params) { p.Model.PixelMean = 1 })},
		{"another kind kept", app.ErrEpochParams, another(s, true, true, func(p *params.Params) {
			p.Model.Kind,
				p.Model.Hidden = params.ModelMLP, 1
		})},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, s, c.want, c.x) })
	}
	// A new model may have another kind.
	require.NoError(t, s.Admit(another(s, false, true, func(p *params.Params) { p.Model.Inputs = 4 })))
	// A block must hold a round: 30 gradients of 2M parameters in two bytes do not fit.
	many := apptest.State(30)
	large := func(p *params.Params) { p.Model.Inputs, p.Grid.Width = 1_000_000, 2 }
	exactly(t, app.ErrEpochParams, many.Admit(another(many, false, true, large)))
	require.NoError(t, many.Admit(another(many, false, true, func(p *params.Params) { p.Model.Inputs = 1_000_000 })))
}

// TestEpochKeepsTheUnit: the next epoch must have the unit of privacy of the running epoch, and the
// same definition of it, also with a new model that suits another one.
func TestEpochKeepsTheUnit(t *testing.T) {
	type change = func(*params.Params)
	table := func(group string) change {
		return func(p *params.Params) {
			p.Privacy.Unit, p.Model = "", apptest.Params(4).Model
			p.Model.Table = &params.Table{Label: "y", Group: group, Classes: []string{"no", "yes"},
				Columns: []params.Column{{Name: "a", High: 1}, {Name: "b", High: 1}, {Name: "c", High: 1}}}
			if group != "" {
				p.Privacy.Unit = params.UnitGroup
			}
		}
	}
	images := func(p *params.Params) { p.Privacy.Unit, p.Model = params.UnitGroup, apptest.Params(4).Model }
	external := func(unit, clipping, trainer, config string) change {
		return func(p *params.Params) {
			p.Privacy.Unit = unit
			p.Model = params.Model{Kind: params.ModelExternal, Clipping: clipping, Trainer: trainer, Config: config,
				Tensors: []params.Tensor{{Name: "w", Shape: []uint32{2}, Init: params.InitZeros}}}
		}
	}
	const rows, sum, code, group = params.ClippingRows, params.ClippingSum, "5f", params.UnitGroup
	for name, c := range map[string]struct {
		running      change
		same, others []change
	}{
		"example": {table(""), []change{table("")}, []change{table("patient"), images, external(group, rows, "", "")}},
		"table": {table("patient"), []change{table("patient")},
			[]change{table("row"), table(""), images, external(group, rows, "", "patient")}},
		"images": {images, []change{images}, []change{table("patient"), external(group, rows, "", "")}},
		"trainer": {external(group, rows, "", "patient"),
			[]change{external(group, sum, strings.Repeat(code, 32), "patient")},
			[]change{external(group, rows, "", "row"), external("", rows, "", "patient"), table("patient"), images}},
		"trainer's examples": {external("", rows, "", "a"), []change{external("", sum, "", "b"), table("")},
			[]change{external(group, rows, "", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := round(t, apptest.State(4, c.running)).State
			for _, other := range c.others {
				x := another(s, false, true, other)
				refused(t, s, app.ErrEpochParams, x)
				require.ErrorContains(t, s.Admit(x), "the unit of privacy is")
			}
			for _, same := range c.same {
				x := another(s, false, true, same)
				out := round(t, s, agreed(x)...)
				require.Equal(t, []app.Enactment{{Kind: tx.KindStartEpoch, Participant: 0, Proposal: id(x)}}, out.Enacted)
				require.Equal(t, s.Params.UnitName(), out.State.Params.UnitName())
			}
		})
	}
}

// TestEpochHasNoNewSchema: only a chain that began with a schema takes an epoch with one.
func TestEpochHasNoNewSchema(t *testing.T) {
	plain := func(p *params.Params) {
		p.Model.Table = &params.Table{Label: "y", Classes: []string{"no", "yes"},
			Columns: []params.Column{{Name: "a", High: 1}, {Name: "b", High: 1}, {Name: "c", High: 1}}}
	}
	schema := func(p *params.Params) {
		plain(p)
		p.Model.Table.Columns = []params.Column{{Name: "a", High: 1}, {Name: "b", Values: []string{"u", "v"}}}
	}
	s := round(t, apptest.State(4, plain)).State
	x := another(s, false, true, schema)
	refused(t, s, app.ErrEpochParams, x)
	require.ErrorContains(t, s.Admit(x), "only a new chain can begin with them")
	s = round(t, apptest.State(4, schema)).State
	require.NoError(t, s.Admit(another(s, false, true, schema)))
	require.NoError(t, s.Admit(another(s, false, true, plain)))
}

// TestEpochGrowsBlocks: block.max_bytes rises if N or the model needs it.
func TestEpochGrowsBlocks(t *testing.T) {
	s, err := app.NewState(apptest.ChainID, 1, 1<<20, apptest.Genesis(4, apptest.Params(4)))
	require.NoError(t, err)
	x := another(s, false, true, func(p *params.Params) { p.Model.Inputs = 200_000 })
	out := step(t, s, append(apptest.Close(s, 1), agreed(x)...)...)
	require.Equal(t, out.State.Params.BlockBytes(4), out.BlockBytes)
	require.Greater(t, out.BlockBytes, int64(1<<20))
	require.Equal(t, out.BlockBytes, out.State.Progress.BlockBytes)
	require.Len(t, out.State.Model, 400_002)
}

// TestNewModel: an epoch has a new or the kept model. The new model is drawn from the present seed,
// and trains.
func TestNewModel(t *testing.T) {
	s := round(t, apptest.State(4)).State
	mlp := func(p *params.Params) { p.Model.Kind, p.Model.Hidden, p.Training.Momentum = params.ModelMLP, 3, 0.5 }
	out := step(t, s, append(apptest.Close(s, 2), agreed(another(s, false, true, mlp))...)...)
	next := out.State
	require.Len(t, next.Model, 3*4+2*4)
	require.Equal(t, make([]float64, 20), next.Velocity)
	require.NotEqual(t, make([]float64, 20), next.Model)
	require.NotEqual(t, app.ModelHash(s.Model), app.ModelHash(next.Model))
	require.Len(t, s.Model, 8)
	// Another seed gives another model.
	other := round(t, s).State
	again := step(t, other, append(apptest.Close(other, 3), agreed(another(other, false, true, mlp))...)...)
	require.NotEqual(t, next.Model, again.State.Model)
	// The round after the new model closes, and the state after it survives its encoding.
	after := round(t, next).State
	require.NotEqual(t, next.Model, after.Model)
	require.NotEqual(t, make([]float64, 20), after.Velocity)
	// A softmax begins at 0, as in genesis.
	out = step(t, after, append(apptest.Close(after, after.Height+1),
		agreed(another(after, false, true, func(p *params.Params) { *p = s.Params }))...)...)
	require.Equal(t, make([]float64, 8), out.State.Model)
	require.Nil(t, out.State.Velocity)
	require.Len(t, out.State.Epochs, 2)
	// Momentum can be turned on and off with a kept model.
	kept := round(t, s, agreed(another(s, true, true, func(p *params.Params) { p.Training.Momentum = 0.5 }))...).State
	require.Equal(t, round(t, s).State.Model, kept.Model)
	require.Equal(t, make([]float64, 8), kept.Velocity)
	kept = round(t, kept).State
	require.NotEqual(t, make([]float64, 8), kept.Velocity)
	reset := round(t, kept, agreed(another(kept, true, true, same))...).State
	require.Equal(t, make([]float64, 8), reset.Velocity, "it starts at zero")
	require.Nil(t, round(t, kept, agreed(another(kept, true, true,
		func(p *params.Params) { p.Training.Momentum = 0 }))...).State.Velocity)
}

// TestLostModel: a model that has overflowed has the same bits on all machines: only one bit
// pattern of NaN is ever stored.
func TestLostModel(t *testing.T) {
	for _, momentum := range []float64{0, 0.5} {
		s := apptest.State(4, func(p *params.Params) {
			p.Training.LearningRate, p.Training.WeightDecay, p.Training.Momentum = 1e308, 0.5, momentum
		})
		for range 6 {
			s = round(t, s).State
		}
		lost := 0
		for _, x := range append(append([]float64{}, s.Model...), s.Velocity...) {
			if math.IsNaN(x) {
				lost++
				require.Equal(t, math.Float64bits(math.NaN()), math.Float64bits(x))
			}
		}
		require.Positive(t, lost)
	}
	s := apptest.State(4, func(p *params.Params) { p.Training.WeightDecay, p.Training.Momentum = 0.5, 0.5 })
	s.Model[0], s.Velocity[0] = math.Inf(-1), math.Inf(1) // their sum is a NaN that no operand had
	out, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	require.Equal(t, math.Float64bits(math.NaN()), math.Float64bits(out.State.Velocity[0]))
}

// TestRecordKeepsItsModel: a block that closes a round may also open an epoch with a new model. The
// round's record names the model after the round.
func TestRecordKeepsItsModel(t *testing.T) {
	s := apptest.State(4)
	p := s.Params
	p.Model = params.Model{Kind: params.ModelMLP, Inputs: 3, Hidden: 4, Classes: 2, Pool: 1, PixelScale: 255}
	x := ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, p, false, true))
	s = step(t, s, x).State
	out := round(t, s, ring{}.approve(1, x), ring{}.approve(2, x))
	require.Equal(t, uint64(1), out.State.Progress.Epoch)
	require.Equal(t, out.State.Epochs[0].ModelHash, out.Record.ModelHash)
	after := app.ModelHash(out.State.Model)
	require.NotEqual(t, after[:], out.Record.ModelHash)
}

// TestEpochBeginsWhereADepartureEndsTraining: a departure at a boundary may end the training after
// the boundary has judged the waiting epoch. That epoch then begins with the next block, although
// no participant can send a gradient any more.
func TestEpochBeginsWhereADepartureEndsTraining(t *testing.T) {
	s := apptest.State(4, apptest.Budgeted(3), func(p *params.Params) { p.Rule.Name = "mean" })
	for _, who := range [][]int{{1, 2, 3}, {0, 2, 3}, {0, 1, 3}} { // only participant 3 is in all rounds
		at := s.Progress.Opened + s.Params.Election.QuorumBlocks
		out, err := applyAt(s, at, apptest.Close(s, at, who...))
		require.NoError(t, err)
		s = out.State
	}
	require.False(t, s.Finished(), "three of four have budget left, and N-f is three")
	next := s.Params
	next.Rule.Byzantine = 0 // for the three that remain
	x := ring{}.sign(1, app.NewStartEpoch(1, tick(), 1, next, true, false))
	s = step(t, s, approved(x, 0, 2)...).State
	require.True(t, s.Proposals[0].Accepted)
	s = step(t, s, leave(0)).State
	for range 200 { // many more empty blocks than a stall takes
		s = step(t, s).State
	}
	require.EqualValues(t, 1, s.Progress.Epoch)
	require.Empty(t, s.Proposals)
}
