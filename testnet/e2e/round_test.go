//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/testnet"
	"github.com/stretchr/testify/require"
)

// TestBaselineNet: four nodes over real p2p store rounds, a block each.
func TestBaselineNet(t *testing.T) {
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Rounds: 5, Memory: true})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const size, rounds = 2000, 5
	// A round that is late on a slow machine costs no empty block.
	nodes, stop, err := startBaseline(ctx, n, size, func(c *config.Config, a *home.AppConfig) {
		a.Proposal.Wait.Duration, c.Consensus.TimeoutPropose = 20*time.Second, 30*time.Second
	})
	defer func() { require.NoError(t, stop()) }()
	require.NoError(t, err)
	s, err := measure(ctx, nodes, warmup+rounds)
	require.NoError(t, err)
	require.Len(t, s.gaps, rounds)
	require.GreaterOrEqual(t, s.blocks, int64(rounds))
	require.LessOrEqual(t, s.blocks, int64(2*rounds))
	require.Positive(t, s.cpu)
	require.Greater(t, s.bytes, float64(rounds*3*size), "every node's transaction reaches the three others")
}

// TestBaselineRound: a proposal waits for the round, and no longer than told.
func TestBaselineRound(t *testing.T) {
	ctx := context.Background()
	b := newBaseline(2, 50*time.Millisecond, dbm.NewMemDB())
	check := func(raw []byte) uint32 {
		r, err := b.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: raw})
		require.NoError(t, err)
		return r.Code
	}
	propose := func() [][]byte {
		r, err := b.PrepareProposal(ctx, &abcitypes.RequestPrepareProposal{})
		require.NoError(t, err)
		return r.Txs
	}
	require.NotZero(t, check([]byte("short")))
	require.NotZero(t, check(baselineTx(2, 0, 100)), "two rounds ahead")
	require.Zero(t, check(baselineTx(0, 0, 100)))
	require.Zero(t, check(baselineTx(1, 0, 100)), "one round ahead")
	require.Empty(t, propose())
	b.wait = time.Minute // however late the other one comes
	go check(baselineTx(0, 1, 100))
	txs := propose()
	require.Equal(t, [][]byte{baselineTx(0, 0, 100), baselineTx(0, 1, 100)}, txs)

	judge := func(txs [][]byte) abcitypes.ResponseProcessProposal_ProposalStatus {
		r, err := b.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Txs: txs})
		require.NoError(t, err)
		return r.Status
	}
	require.Equal(t, abcitypes.ResponseProcessProposal_ACCEPT, judge(txs))
	require.Equal(t, abcitypes.ResponseProcessProposal_ACCEPT, judge(nil))
	require.Equal(t, abcitypes.ResponseProcessProposal_REJECT, judge(txs[:1]))

	before := b.hash
	r, err := b.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: 1, Txs: txs})
	require.NoError(t, err)
	require.Len(t, r.TxResults, 2)
	require.NotEqual(t, before, r.AppHash)
	_, err = b.Commit(ctx, nil)
	require.NoError(t, err)
	require.NotZero(t, check(baselineTx(0, 0, 100)), "the round is over")
	require.Zero(t, check(baselineTx(2, 0, 100)))
	stored, err := b.db.Get(txs[1][:12])
	require.NoError(t, err)
	require.Equal(t, txs[1], stored)

	empty, err := b.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: 2})
	require.NoError(t, err)
	require.Equal(t, r.AppHash, empty.AppHash, "an empty block changes nothing")
}

func TestPool(t *testing.T) {
	f := pool([]sample{
		{gaps: []float64{5, 1, 3}, blocks: 3, cpu: 0.6, bytes: 100},
		{gaps: []float64{2, 4, 9, 8, 7, 6, 10}, blocks: 9, cpu: 0.4, bytes: 900},
	})
	require.Equal(t, figures{rounds: 10, median: 6, p90: 10, blocks: 1.2, cpu: 0.1, bytes: 100}, f)
}

// TestCompare: both nets run, one after the other.
func TestCompare(t *testing.T) {
	c, err := compare(t.Context(), testnet.Manifest{Rounds: warmup + 5, Validators: 4, Memory: true}, 1, t.Output())
	require.NoError(t, err)
	require.Equal(t, 1600+168, c.txBytes)
	for _, f := range []figures{c.spdl, c.baseline} {
		require.Equal(t, 5, f.rounds)
		require.GreaterOrEqual(t, f.p90, f.median)
		require.GreaterOrEqual(t, f.blocks, 1.0)
		require.Positive(t, f.cpu)
		require.Positive(t, f.bytes)
	}
	_, err = compare(t.Context(), testnet.Manifest{Rounds: warmup}, 1, t.Output())
	require.ErrorContains(t, err, "5 rounds, want at least 6")
}
