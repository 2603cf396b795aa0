package abci_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// timed is a node of participant 0 with a clock that the test sets, and its log.
type timed struct {
	*node
	clock  time.Time
	log    bytes.Buffer
	height int64 // the next height
}

func beginTimed(t *testing.T) *timed {
	t.Helper()
	n := &timed{clock: time.Unix(1_700_000_000, 0), height: 1}
	a, err := abci.New(abci.Options{
		DB: dbm.NewMemDB(), ChainID: apptest.ChainID, ProposalWait: time.Second, StragglerWait: time.Millisecond,
		OwnKey: apptest.Key(0).Public().(ed25519.PublicKey), Now: func() time.Time { return n.clock },
		Logger: log.NewTMLogger(&n.log),
	})
	require.NoError(t, err)
	n.node = &node{Application: a, t: t}
	n.init(4)
	return n
}

// after advances the clock and sends gradients of participants for the open round.
func (n *timed) after(ms int, participants ...int) {
	n.t.Helper()
	n.clock = n.clock.Add(time.Duration(ms) * time.Millisecond)
	for _, i := range participants {
		require.Equal(n.t, abci.CodeOK, n.check(apptest.Gradient(n.State(), i)).Code)
	}
}

// pass decides blocks without transactions.
func (n *timed) pass(blocks uint64) {
	n.t.Helper()
	for range blocks {
		n.decide()
	}
}

func (n *timed) decide(txs ...*tx.Tx) {
	n.t.Helper()
	n.finalize(n.height, raws(txs))
	n.commit()
	n.height++
}

// lead sends the first leader's aggregate and returns it with its gradients.
func (n *timed) lead() []*tx.Tx {
	n.t.Helper()
	leader := n.State().Progress.Ranking[0]
	draft, err := n.Draft(leader)
	require.NoError(n.t, err)
	txs := []*tx.Tx{apptest.Sign(int(leader), draft)}
	require.Equal(n.t, abci.CodeOK, n.check(txs[0]).Code)
	for _, in := range draft.Included {
		txs = append(txs, apptest.Gradient(n.State(), int(in.Participant)))
	}
	return txs
}

// timing returns the timing of a closed round.
func (n *timed) timing(round uint64) (t query.Timing) {
	n.t.Helper()
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: fmt.Sprintf("/timing/%d", round)})
	require.NoError(n.t, err)
	require.Zero(n.t, r.Code, r.Log)
	require.NoError(n.t, json.Unmarshal(r.Value, &t))
	return t
}

// TestTimingOfAPartialRound: if a round closes without some gradients, the exchange ends when a
// leader has waited long enough, not with a gradient that arrives too late, and the time after it
// is consensus.
func TestTimingOfAPartialRound(t *testing.T) {
	n := beginTimed(t)
	n.after(100, 0)
	n.after(200, 1, 2)
	n.pass(n.State().Params.Election.QuorumBlocks)
	n.after(4000)
	txs := n.lead()
	n.after(50, 3)
	n.after(30)
	n.decide(txs...)
	require.Equal(t, query.Timing{LGC: 100, GE: 4200, BC: 80}, n.timing(0))

	n.after(10, 0, 1)
	n.after(20, 2, 3)
	n.after(30)
	txs = n.lead()
	n.after(40)
	n.decide(txs...)
	require.Equal(t, query.Timing{Round: 1, LGC: 10, GE: 20, BC: 70}, n.timing(1),
		"with everybody it ends with the last gradient")
}

// TestLateRounds: a node warns if gradients arrive after the views of all ranks have opened, and if
// its own gradient arrives when the round could already close without it. It does not warn about
// the first round, in which it started, and does not repeat the warning in every round.
func TestLateRounds(t *testing.T) {
	n := beginTimed(t)
	all := []int{0, 1, 2, 3}
	e := n.State().Params.Election
	views := apptest.Opens(n.State(), 4) - n.State().Progress.Opened
	said := func(text string) int { return strings.Count(n.log.String(), text) }
	round := func(before uint64, first, then []int) {
		t.Helper()
		n.after(10, first...)
		n.pass(before)
		n.after(3000, then...)
		n.after(10)
		n.decide(n.lead()...)
	}
	round(views, nil, all)
	require.Zero(t, said("remedy"), "the first round")
	round(views-1, all, nil)
	round(views-1, []int{0, 1, 2}, []int{3})
	require.Zero(t, said("remedy"), "nobody's step was late, or another's alone")
	round(e.QuorumBlocks, []int{1, 2, 3}, []int{0})
	require.Equal(t, 1, said("this worker's gradient came when the round could close without it"))
	require.Contains(t, n.log.String(), "3.01s")
	require.Contains(t, n.log.String(), "proposal.wait above the longest training step")
	round(views, nil, all)
	require.Equal(t, 1, said("remedy"), "it was said")

	n = beginTimed(t)
	round(0, all, nil)
	round(views, []int{0, 1}, []int{2, 3})
	require.Equal(t, 1, said("after the views of all ranks were open"))
}
