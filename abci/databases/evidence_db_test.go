package databases

import (
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// doubleVote returns two unsigned prevotes of a validator for one height and round.
func doubleVote(key ed25519.PubKey, height int64, round int32, at time.Time) *types.DuplicateVoteEvidence {
	vote := func(block byte) *types.Vote {
		hash := tmhash.Sum([]byte{block})
		return &types.Vote{
			Type: cmtproto.PrevoteType, Height: height, Round: round, Timestamp: at, ValidatorAddress: key.Address(),
			BlockID:   types.BlockID{Hash: hash, PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash}},
			Signature: make([]byte, 64),
		}
	}
	e := &types.DuplicateVoteEvidence{VoteA: vote(0), VoteB: vote(1), TotalVotingPower: 10, ValidatorPower: 10,
		Timestamp: at}
	if e.VoteA.BlockID.Key() > e.VoteB.BlockID.Key() {
		e.VoteA, e.VoteB = e.VoteB, e.VoteA
	}
	return e
}

// TestEvidencePoolHoldsOnePieceAValidator: the pool takes the first piece of evidence against each
// participant's validator, and none against a convicted validator or a validator without a
// participant. Other entries of the database are stored unchanged.
func TestEvidencePoolHoldsOnePieceAValidator(t *testing.T) {
	s := apptest.State(4)
	for _, at := range []func() *app.State{func() *app.State { return s }, func() *app.State { return nil }} {
		c := &evidenceDB{DB: dbm.NewMemDB(), state: at}
		add := func(key byte, who int, height int64) error {
			p, err := types.EvidenceToProto(doubleVote(apptest.ConsensusKey(who), height, int32(key), time.Now()))
			require.NoError(t, err)
			raw, err := p.Marshal()
			require.NoError(t, err)
			return c.Set([]byte{pendingPrefix, key}, raw)
		}
		require.NoError(t, add(0, 3, 1))
		require.ErrorIs(t, add(1, 3, 1), ErrNeedless)
		require.ErrorIs(t, add(1, 3, 2), ErrNeedless)
		require.NoError(t, add(1, 2, 1))
		require.NoError(t, c.Delete([]byte{pendingPrefix, 0}), "committed")
		require.NoError(t, add(2, 3, 2))
		if at() == nil {
			continue
		}
		require.ErrorIs(t, add(3, 99, 1), ErrNeedless)
		require.NoError(t, c.Delete([]byte{pendingPrefix, 2}))
		out, err := s.Execute(app.Block{Height: s.Height + 1,
			Misbehavior: []app.Misbehavior{{Type: 1, Address: ed25519.PubKey(apptest.ConsensusKey(3)).Address(), Height: 1}}})
		require.NoError(t, err)
		s = out.State
		require.ErrorIs(t, add(3, 3, 2), ErrNeedless, "on file")
		require.Error(t, c.Set([]byte{pendingPrefix, 9}, []byte("x")))
		require.NoError(t, c.Set([]byte{0, 9}, []byte("x")))
	}
}

// TestPieceCommittedDuringTheCheck: if a block with the pending piece is committed while a second
// piece is checked, the second piece is still rejected.
func TestPieceCommittedDuringTheCheck(t *testing.T) {
	s := apptest.State(4)
	c := &evidenceDB{DB: dbm.NewMemDB(), state: func() *app.State { return s }}
	piece := func(round int32) []byte {
		p, err := types.EvidenceToProto(doubleVote(apptest.ConsensusKey(3), 1, round, time.Now()))
		require.NoError(t, err)
		raw, err := p.Marshal()
		require.NoError(t, err)
		return raw
	}
	require.NoError(t, c.Set([]byte{pendingPrefix, 0}, piece(0)))
	c.state = func() *app.State { // the piece leaves the pool right after the state was read
		before := s
		out, err := s.Execute(app.Block{Height: s.Height + 1,
			Misbehavior: []app.Misbehavior{{Type: 1, Address: ed25519.PubKey(apptest.ConsensusKey(3)).Address(), Height: 1}}})
		require.NoError(t, err)
		s = out.State
		require.NoError(t, c.Delete([]byte{pendingPrefix, 0}))
		return before
	}
	require.ErrorIs(t, c.Set([]byte{pendingPrefix, 1}, piece(1)), ErrNeedless)
}
