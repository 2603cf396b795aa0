package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// TestDocument: a document that no state encodes to is refused with what is wrong
// with it. Its bytes may be a peer's, and it is read before its hash is known.
func TestDocument(t *testing.T) {
	s := apptest.State(4, func(p *app.Params) { p.Training.Momentum = 0.5 })
	out, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	encoded := out.State.Encode()
	_, err = app.DecodeState(1, encoded)
	require.NoError(t, err)
	for want, spoil := range map[string]func(d *app.Document){
		"history of 3 rounds has 1 peaks, want 2": func(d *app.Document) { d.Closed = 3 },
		"history of 1 rounds has 0 peaks, want 1": func(d *app.Document) { d.History = nil },
		"history of 1 rounds has 2 peaks, want 1": func(d *app.Document) { d.History = append(d.History, d.History[0]) },
		"velocity has 7 parameters, want 8":       func(d *app.Document) { d.Velocity = d.Velocity[1:] },
		"velocity has 8 parameters, want 0":       func(d *app.Document) { d.Params.Training.Momentum = 0 },
		"model has 0 parameters, want 8":          func(d *app.Document) { d.Model = nil },
		"election.term is 0":                      func(d *app.Document) { d.Params.Election.Term = 0 },
		"view_blocks 0":                           func(d *app.Document) { d.Params.Election.ViewBlocks = 0 },
		"privacy.cost has 1 and budget 0 entries": func(d *app.Document) {
			d.Params.Privacy.Epsilon, d.Params.Privacy.Delta, d.Params.Privacy.Cost = 1, 1e-6, []uint64{1}
		},
		"privacy.cost[0] is 0": func(d *app.Document) {
			d.Params.Privacy.Epsilon, d.Params.Privacy.Delta = 1, 1e-6
			d.Params.Privacy.Cost, d.Params.Privacy.Budget = make([]uint64, app.LedgerOrders), make([]uint64, app.LedgerOrders)
		},
	} {
		var d app.Document
		require.NoError(t, d.Unmarshal(encoded))
		spoil(&d)
		data, err := d.Marshal()
		require.NoError(t, err)
		require.NotPanics(t, func() { _, err = app.DecodeState(1, data) }, want)
		require.ErrorContains(t, err, "stored state: ", want)
		require.ErrorContains(t, err, want)
	}
}
