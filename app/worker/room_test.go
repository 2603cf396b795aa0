package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// TestRoom: a bound on bytes limits the aggregates of one round in the journal. The aggregates of
// the next round replace them.
func TestRoom(t *testing.T) {
	a := &tx.Aggregate{Round: 1, View: 9}
	require.NoError(t, (&Record{}).checkRoom(a))
	full := &Record{Entry: entry{Aggregates: []*signedTx{{Round: 1, Raw: make([]byte, maxKept-1)}}}}
	require.ErrorIs(t, full.checkRoom(a), ErrDraft)
	require.NoError(t, full.checkRoom(&tx.Aggregate{Round: 2}))
	require.ErrorIs(t, full.checkRoom(&tx.Aggregate{Round: 2, Delta: make([]byte, maxAggregate)}), ErrDraft)
}
