package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/tmhash"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/internal/stage"
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

// TestEvidencePoolHoldsOnePieceAValidator: the pool takes the first piece against each
// participant's validator, and none against a convicted validator or a stranger's. Other entries
// are stored as before.
func TestEvidencePoolHoldsOnePieceAValidator(t *testing.T) {
	s := apptest.State(4)
	for _, at := range []func() *app.State{func() *app.State { return s }, func() *app.State { return nil }} {
		c := &evidenceDB{DB: dbm.NewMemDB(), state: at}
		add := func(key byte, who int, height int64) error {
			p, err := types.EvidenceToProto(doubleVote(apptest.ConsensusKey(who), height, int32(key), time.Now()))
			require.NoError(t, err)
			raw, err := p.Marshal()
			require.NoError(t, err)
			return c.Set([]byte{waiting, key}, raw)
		}
		require.NoError(t, add(0, 3, 1))
		require.ErrorIs(t, add(1, 3, 1), errNeedless)
		require.ErrorIs(t, add(1, 3, 2), errNeedless)
		require.NoError(t, add(1, 2, 1))
		require.NoError(t, c.Delete([]byte{waiting, 0}), "committed")
		require.NoError(t, add(2, 3, 2))
		if at() == nil {
			continue
		}
		require.ErrorIs(t, add(3, 99, 1), errNeedless)
		require.NoError(t, c.Delete([]byte{waiting, 2}))
		out, err := s.Execute(app.Block{Height: s.Height + 1,
			Misbehavior: []app.Misbehavior{{Type: 1, Address: ed25519.PubKey(apptest.ConsensusKey(3)).Address(), Height: 1}}})
		require.NoError(t, err)
		s = out.State
		require.ErrorIs(t, add(3, 3, 2), errNeedless, "on file")
		require.Error(t, c.Set([]byte{waiting, 9}, []byte("x")))
		require.NoError(t, c.Set([]byte{0, 9}, []byte("x")))
	}
}

// TestEvidenceFloodEndsInThePool: of 300 valid pieces that a validator signed against itself, the
// pool of a running node takes one and rejects the others with the reason. After that piece has
// convicted the validator, the pool rejects all, and blocks go on.
func TestEvidenceFloodEndsInThePool(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() >= 3 }, time.Minute, time.Millisecond)
	pv := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	header := r.Node.BlockStore().LoadBlockMeta(2).Header
	piece := func(round int) types.Evidence {
		e := doubleVote(pv.Key.PubKey.(ed25519.PubKey), 2, int32(round), header.Time)
		e.TotalVotingPower, e.ValidatorPower = app.Power, app.Power
		for _, v := range []*types.Vote{e.VoteA, e.VoteB} {
			v.Signature, err = pv.Key.PrivKey.Sign(types.VoteSignBytes(header.ChainID, v.ToProto()))
			require.NoError(t, err)
		}
		return e
	}
	pool, taken := r.Node.EvidencePool(), 0
	for round := range 300 {
		if err := pool.AddEvidence(piece(round)); err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, errNeedless)
		}
		require.LessOrEqual(t, pool.Size(), uint32(1))
	}
	require.Equal(t, 1, taken)
	require.Eventually(t, func() bool { return len(r.Application.State().Offences) == 1 }, time.Minute, time.Millisecond)
	require.ErrorContains(t, pool.AddEvidence(piece(300)), "on the list of offences")
	// CometBFT tells its pool of a block after the application has committed it.
	require.Eventually(t, func() bool { return pool.Size() == 0 }, time.Minute, time.Millisecond)
	height := r.Node.BlockStore().Height()
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() > height+2 }, time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())
}

// TestWhatIsNoErrorFillsNoLog: needless evidence is not logged as an error, nor are connections
// that break while the node stops, peers that are down, and connections that a peer closed. Other
// failures are.
func TestWhatIsNoErrorFillsNoLog(t *testing.T) {
	var out bytes.Buffer
	var heardOf []string
	stopping := make(chan struct{})
	h := logMonitor{log.NewFilter(log.NewTMLogger(&out), log.AllowError()),
		func(message, _ string) { heardOf = append(heardOf, message) }, stopping}
	h.With("module", "evidence").Error("Can't add evidence to pending list", "err",
		fmt.Errorf("can't persist evidence: %w", errNeedless), "ev", 1)
	require.Empty(t, out.String())
	h.Error("Can't add evidence to pending list", "err", errors.New("disk full"))
	require.Contains(t, out.String(), "disk full")
	require.Len(t, heardOf, 1)
	for _, err := range []error{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, io.EOF} {
		out.Reset()
		h.Error(saidNotDialed, "err", err)
		require.Empty(t, out.String(), err)
	}
	h.Error(saidPeerStopped, "peer", "a", "err", io.EOF)
	require.Empty(t, out.String())
	require.Len(t, heardOf, 1)
	h.Error(saidPeerStopped, "peer", "a", "err", errors.New("a message that cannot be decoded"))
	require.Contains(t, out.String(), "cannot be decoded")
	out.Reset()
	h.Error(saidNotDialed, "err", errors.New("incompatible network"))
	require.Contains(t, out.String(), "incompatible network")
	close(stopping)
	out.Reset()
	h.Error("Stopping peer for error", "err", errors.New("EOF"))
	require.Empty(t, out.String(), "it is to stop")
	h.Error(saidHalted, "err", errors.New("a fault"))
	require.Contains(t, out.String(), "a fault")
}
