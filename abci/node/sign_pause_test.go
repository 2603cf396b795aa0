package node

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
)

// lose removes the data folder of a home, and makes another as a start does.
func lose(t *testing.T, c *config.Config) {
	t.Helper()
	require.NoError(t, os.RemoveAll(c.DBDir()))
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
}

// afterLoss returns the validator of a home and the begin of its pause, zero without one. The node is
// in block sync while *syncing is set.
func afterLoss(t *testing.T, c *config.Config, syncing *bool, out *bytes.Buffer) (*home.PausedValidator, time.Time) {
	t.Helper()
	pause, err := home.ReadSignPause(c)
	require.NoError(t, err)
	pv, err := new(home.Keystore).LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.NoError(t, err)
	v, err := home.PauseSigning(c, pv, func() bool { return *syncing }, log.NewTMLogger(out))
	require.NoError(t, err)
	if pause == nil {
		return v, time.Time{}
	}
	return v, pause.Since
}

// TestSignPause: after a loss of its last signature a validator signs nothing until consensus has
// decided home.PauseBlocks blocks in a row that are later than the loss and have no vote of its key.
// Another start continues the pause, and none follows it.
func TestSignPause(t *testing.T) {
	c, _ := alone(t, 10)
	var out bytes.Buffer
	syncing := true
	lose(t, c)
	v, since := afterLoss(t, c, &syncing, &out)
	key, err := v.GetPubKey()
	require.NoError(t, err)
	signs := func(height int64) error {
		vote := &cmtproto.Vote{Type: cmtproto.PrevoteType, Height: height, BlockID: cmtproto.BlockID{}}
		proposal := &cmtproto.Proposal{Type: cmtproto.ProposalType, Height: height}
		err := v.SignProposal("alone", proposal)
		if err != nil {
			require.ErrorIs(t, v.SignVote("alone", vote), home.ErrPaused)
			require.Empty(t, vote.Signature)
			require.Empty(t, proposal.Signature)
			return err
		}
		require.NoError(t, v.SignVote("alone", vote))
		return nil
	}
	height := int64(10)
	decide := func(after time.Duration, flag cmtproto.BlockIDFlag) {
		height++
		v.OnFinalized(&abcitypes.RequestFinalizeBlock{Height: height, Time: since.Add(after),
			DecidedLastCommit: abcitypes.CommitInfo{Votes: []abcitypes.VoteInfo{{
				Validator: abcitypes.Validator{Address: key.Address()}, BlockIdFlag: flag}}}})
	}
	require.ErrorContains(t, signs(1), "decide 2 blocks without this validator first, now 0")
	for range home.PauseBlocks {
		decide(time.Second, cmtproto.BlockIDFlagAbsent) // in block sync
	}
	require.ErrorContains(t, signs(height), "now 0")
	syncing = false
	for range home.PauseBlocks {
		decide(0, cmtproto.BlockIDFlagAbsent) // from before the loss
	}
	require.ErrorContains(t, signs(height), "now 0")
	for range home.PauseBlocks {
		decide(time.Second, cmtproto.BlockIDFlagCommit)
	}
	require.ErrorContains(t, signs(height), "now 0")
	require.Contains(t, out.String(), "by another process or by the former host")

	decide(time.Second, cmtproto.BlockIDFlagAbsent)
	require.ErrorContains(t, signs(height), "now 1, the last at height 17")
	decide(time.Second, cmtproto.BlockIDFlagNil)
	require.ErrorContains(t, signs(height), "now 0")

	decide(time.Second, cmtproto.BlockIDFlagAbsent)
	v, _ = afterLoss(t, c, &syncing, &out) // the next start
	require.ErrorContains(t, signs(height), "now 0")
	for range home.PauseBlocks {
		require.True(t, v.IsPaused())
		decide(time.Second, cmtproto.BlockIDFlagAbsent)
	}
	require.NoError(t, signs(height+1))
	require.NoFileExists(t, home.SignPauseFile(c))
	require.Contains(t, out.String(), "the validator signs from the next height on")
	decide(time.Second, cmtproto.BlockIDFlagCommit)
	require.NoError(t, signs(height+1))

	v, since = afterLoss(t, c, &syncing, &out)
	require.False(t, v.IsPaused())
	require.Zero(t, since)
	require.NoError(t, signs(height+2))
	require.False(t, (*home.PausedValidator)(nil).IsPaused(), "a relay, or a node with a signer")
}

// TestSignPauseCannotEnd: while the record of the pause cannot be removed, the validator signs nothing.
func TestSignPauseCannotEnd(t *testing.T) {
	c, _ := alone(t, 10)
	var out bytes.Buffer
	lose(t, c)
	v, since := afterLoss(t, c, new(bool), &out)
	record := home.SignPauseFile(c)
	require.NoError(t, os.Remove(record))
	require.NoError(t, os.MkdirAll(record+"/x", 0o700))
	for range home.PauseBlocks + 1 {
		v.OnFinalized(&abcitypes.RequestFinalizeBlock{Height: 7, Time: since.Add(time.Second)})
	}
	require.True(t, v.IsPaused())
	require.Contains(t, out.String(), "its pause cannot end")
	require.NoError(t, os.RemoveAll(record))
	v.OnFinalized(&abcitypes.RequestFinalizeBlock{Height: 8, Time: since.Add(time.Second)})
	require.False(t, v.IsPaused())
}

// TestRestoredAlone: a chain that cannot go on without the restored validator stands, and the log and the
// status say why. It goes on after the operator has removed the record of the pause.
func TestRestoredAlone(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	require.NoError(t, os.RemoveAll(c.DBDir()))
	var out bytes.Buffer
	logged := log.NewSyncWriter(&out)
	r, err := Start(c, a, log.NewTMLogger(logged), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Application.State() != nil }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return r.Node.BlockStore().Height() > 0 }, 3*c.Consensus.TimeoutPropose,
		100*time.Millisecond)
	answer, err := r.Application.Query(t.Context(), &abcitypes.RequestQuery{Path: "/status"})
	require.NoError(t, err)
	require.Contains(t, string(answer.Value), `"validator":"paused"`)
	require.NoError(t, r.Stop())
	require.Contains(t, out.String(), "the validator signs nothing until the chain has decided blocks without it")
	require.True(t, strings.Contains(out.String(), home.ErrPaused.Error()), out.String())
	last, err := home.ReadValidatorState(c.PrivValidatorStateFile())
	require.NoError(t, err)
	require.Zero(t, last.Height)

	require.NoError(t, os.Remove(home.SignPauseFile(c)))
	r, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() > 1 }, time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())
}
