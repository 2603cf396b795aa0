package pool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestAdvanceInARound: while a round stays open, its transactions stay in the pool until the
// standing of their sender changes: a participant that has lost its reputation may no longer lead.
func TestAdvanceInARound(t *testing.T) {
	s := apptest.State(4)
	leader := int(s.Progress.Ranking[0])
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	draft, err := s.DraftAggregate(1, uint32(leader), pending)
	require.NoError(t, err)
	early := *pending[1].Gradient
	early.Round++
	p := New(s, 0, Patience{}, time.Now)
	for _, x := range append(pending, apptest.Sign(leader, draft), apptest.Sign(1, &early), apptest.Join(4)) {
		_, err := p.Add(x)
		require.NoError(t, err)
	}
	advance := func(x *tx.Tx) {
		out, err := p.state.Execute(app.Block{Height: p.state.Height + 1, Txs: []*tx.Tx{x}})
		require.NoError(t, err)
		p.Advance(out.State, nil)
	}
	advance(apptest.Join(4))
	v := p.Snapshot()
	require.Len(t, v.Pending, 5)
	require.Empty(t, v.Operations, "it is in the chain")
	require.True(t, v.Holds(draft))

	other := *pending[leader].Gradient
	other.Payload = make([]byte, len(other.Payload))
	proof, err := tx.NewEvidence(pending[leader], apptest.Sign(leader, &other))
	require.NoError(t, err)
	advance(proof)
	v = p.Snapshot()
	require.Equal(t, 4, len(v.Senders()))
	require.False(t, v.Holds(draft))
	n, _ := p.Size()
	require.Equal(t, 5, n, "and the next round's")
}
