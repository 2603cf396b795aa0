package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// voted is CometBFT's evidence that validator number i voted twice at a height.
func voted(i int, height uint64) app.Misbehavior { return against(1, i, height) }

// proven executes a block with evidence and transactions.
func proven(t *testing.T, s *app.State, txs []*tx.Tx, m ...app.Misbehavior) *app.Outcome {
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs, Misbehavior: m})
	require.NoError(t, err)
	return out
}

// TestDoubleVoteIsAnOffence: evidence against a participant's validator is recorded once, however
// many pieces there are, and takes the reputation. Evidence against a stranger's validator is
// ignored.
func TestDoubleVoteIsAnOffence(t *testing.T) {
	s := apptest.State(4)
	out := proven(t, s, nil, voted(3, 1), voted(3, 1), voted(99, 1))
	require.Equal(t, []app.Offence{{Participant: 3, Misbehavior: 1, Voted: 1, Height: 1,
		Evidence: apptest.ConsensusKey(3)}}, out.Offences)
	require.NotEqual(t, s.Hash(), out.State.Hash())
	s = out.State
	require.Zero(t, s.Participants[3].Reputation)
	require.Equal(t, out.Offences, s.Offences)
	again := proven(t, s, nil, voted(3, 2))
	require.Equal(t, s.Hash(), again.State.Hash(), "a flood changes nothing more")
	s = round(t, s, approved(restore(0, 3), 1, 2)...).State
	require.Empty(t, proven(t, s, nil, voted(3, s.Height)).Offences, "settled")
	require.Len(t, proven(t, s, nil, voted(3, s.Height+1)).Offences, 1)
}

// TestDoubleVoteReachesWhoHadTheKey: the keys in force at the height decide, including those of a
// rotated and of a departed validator.
func TestDoubleVoteReachesWhoHadTheKey(t *testing.T) {
	s := round(t, apptest.State(5), rotate(3, ring{}, 0, 0, 53), leave(4)).State
	last := s.Height + 1 // last height of the old validators
	s = round(t, s, rotate(2, ring{}, 0, 0, 4)).State
	for _, c := range []struct {
		key    int
		height uint64
		who    []uint32
	}{{3, last, []uint32{3}}, {3, last + 1, nil}, {53, last + 1, []uint32{3}}, {4, last, []uint32{4}},
		{4, last + 9, []uint32{2}}} {
		var who []uint32
		for _, o := range proven(t, s, nil, voted(c.key, c.height)).Offences {
			who = append(who, o.Participant)
		}
		require.Equal(t, c.who, who, "key %d at height %d", c.key, c.height)
	}
}

// TestUnseat: with the parameter set, the validator is removed at the next boundary, unless it is
// the last validator. Without the parameter the validator keeps its power.
func TestUnseat(t *testing.T) {
	unseat := func(p *params.Params) { p.Reputation.Unseat = true }
	s := proven(t, apptest.State(4, unseat), nil, voted(3, 1)).State
	require.Equal(t, apptest.ConsensusKey(3), s.Participants[3].ConsensusKey)
	out := round(t, s)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(3)}}, out.Validators)
	require.True(t, out.State.Participants[3].Active, "it trains on")
	refused(t, out.State, app.ErrIdentity, rotate(3, ring{}, 0, 0, 53))
	s = apptest.State(4, unseat)
	out = proven(t, s, apptest.Close(s, 1), voted(0, 1), voted(1, 1), voted(2, 1), voted(3, 1))
	require.Len(t, out.Validators, 3)
	require.Empty(t, round(t, proven(t, apptest.State(4), nil, voted(3, 1)).State).Validators)
}

// TestConvictGetsNoSeat: a boundary that takes a validator drops the rotation of its consensus key that waits, from
// before the offence or from after it, at 64 boundaries in turn. Without reputation.unseat a key that was stolen is
// replaced.
func TestConvictGetsNoSeat(t *testing.T) {
	unseat := func(p *params.Params) { p.Reputation.Unseat, p.Training.Rounds = true, 100 }
	before := step(t, apptest.State(4, unseat), rotate(3, ring{}, 0, 0, 10)).State
	before = proven(t, before, nil, voted(3, 1)).State
	after := proven(t, apptest.State(4, unseat), nil, voted(3, 1)).State
	after = step(t, after, rotate(3, ring{}, 53, 0, 10)).State
	for _, s := range []*app.State{before, after} {
		out := round(t, s)
		require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(3)}}, out.Validators)
		require.Len(t, out.Enacted, 1)
		require.ErrorIs(t, out.Enacted[0].Refused, app.ErrIdentity)
		for i := range 64 {
			s = out.State
			require.Empty(t, s.Proposals)
			require.Empty(t, s.Participants[3].ConsensusKey, "after boundary %d", i)
			require.Len(t, s.Participants[3].FormerValidators, 1)
			refused(t, s, app.ErrIdentity, rotate(3, ring{}, 0, 0, 11+i))
			out = round(t, s)
		}
	}
	s := proven(t, apptest.State(4), nil, voted(3, 1)).State
	require.Equal(t, apptest.ConsensusKey(53), round(t, s, rotate(3, ring{}, 0, 0, 53)).State.Participants[3].ConsensusKey)
}
