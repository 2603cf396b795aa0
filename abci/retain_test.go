package abci_test

import (
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// retained closes one round at each height and returns the largest retain height after each.
func retained(t *testing.T, rounds int, o abci.Options) []int64 {
	t.Helper()
	o.DB, o.ProposalWait, o.StragglerWait = dbm.NewMemDB(), 30e6, 10e6
	a, err := abci.New(o)
	require.NoError(t, err)
	n, long := &node{Application: a, t: t}, func(p *params.Params) { p.Training.Rounds = 1000 }
	n.init(4, long)
	s, all, last := apptest.State(4, long), []int64(nil), int64(0)
	for range rounds {
		txs := apptest.Close(s, s.Height+1)
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
		require.NoError(t, err)
		s = out.State
		n.finalize(int64(s.Height), raws(txs))
		r, err := n.Commit(ctx, &abcitypes.RequestCommit{})
		require.NoError(t, err)
		last = max(last, r.RetainHeight)
		all = append(all, last)
	}
	return all
}

// TestRetainKeepsWhatAReplayNeeds: the dropped blocks are older than the retained rounds, and older
// than the checkpoint from which the first retained model is computed. They are dropped in time.
// Round t is closed at height t+1 here.
func TestRetainKeepsWhatAReplayNeeds(t *testing.T) {
	const rounds, every = 100, store.DefaultCheckpointEvery
	for _, r := range []store.Retain{{Rounds: 20}, {Heights: 20}, {Rounds: 20, Heights: 5}, {Rounds: 5, Heights: 20}} {
		dropped := false
		for i, from := range retained(t, rounds, abci.Options{Retain: r}) {
			height := int64(i + 1)
			if from == 0 {
				require.Less(t, height, int64(20+2*every), "%+v", r)
				continue
			}
			dropped = true
			require.LessOrEqual(t, from, height-20+1, "%+v at height %d", r, height)
			require.Zero(t, (from-1)%every, "the block before is that of a kept state")
			require.Greater(t, from, height-20-2*every-1, "%+v at height %d", r, height)
		}
		require.True(t, dropped)
	}
	for _, none := range []store.Retain{{}, {Rounds: 1000}, {Heights: 1000}} {
		require.Zero(t, retained(t, rounds, abci.Options{Retain: none})[rounds-1], "%+v", none)
	}
}

// TestRetainKeepsTheBlocksBehindSnapshots: a node that restores the oldest offered snapshot finds
// the blocks after it.
func TestRetainKeepsTheBlocksBehindSnapshots(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	o := abci.Options{Retain: store.Retain{Heights: 1}, SnapshotInterval: 10, Now: func() time.Time { return now }}
	all := retained(t, 100, o) // the clock does not move, so the first two snapshots stay
	require.Zero(t, all[99])
	o.SnapshotInterval = 40
	all = retained(t, 100, o)
	require.Equal(t, int64(33), all[99], "the oldest snapshot is of height 40, the kept state before it of height 32")
}
