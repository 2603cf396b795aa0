package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// TestClosedRoundServesOtherBlocks: the cached result of a round gives the same outcome as closing
// the round again, whatever operations follow it in other blocks of the height. No block changes
// the cached result.
func TestClosedRoundServesOtherBlocks(t *testing.T) {
	s := apptest.State(4, mean, func(p *params.Params) { p.Training.Momentum = 0.5 })
	s = round(t, s, agreed(another(s, true, true, same))...).State
	s = round(t, s, equivocation(3, 1, 0)).State
	waits := upgradeTo("waits", 90, app.Version+1)
	s = round(t, s, waits, ring{}.approve(1, waits), apptest.Join(4)).State
	closing := ring{}.closes(s, s.Height+1)
	require.NotNil(t, closing)
	base, err := s.Execute(app.Block{Height: s.Height + 1, Txs: closing})
	require.NoError(t, err)
	hash, model := base.State.Hash(), app.ModelHash(base.State.Model)

	restore := ring{}.sign(0, &tx.Restore{Participant: 0, Nonce: tick(), Subject: 3})
	follow := [][]*tx.Tx{
		nil,
		{ring{}.approve(2, waits)},
		{ring{}.approve(2, apptest.Join(4)), ring{}.approve(1, apptest.Join(4)), ring{}.approve(0, apptest.Join(4))},
		agreed(restore),
		agreed(another(s, false, true, func(p *params.Params) { p.Training.Momentum = 0 })),
		agreed(another(s, true, true, same)),
		{equivocation(2, 1, 2)},
		{leave(2)},
		{rotate(1, ring{}, 11, 11, 11)},
	}
	evidence := [][]app.Misbehavior{nil, {voted(1, s.Height)}}
	for range 2 {
		for i, operations := range follow {
			for j, proven := range evidence {
				b := app.Block{Height: s.Height + 1, Txs: append(closing[:len(closing):len(closing)], operations...),
					Misbehavior: proven}
				again, err := s.Execute(b)
				require.NoError(t, err, "%d", i)
				b.Closed = base.Closed
				once, err := s.Execute(b)
				require.NoError(t, err)
				name := fmt.Sprintf("operations %d, evidence %d", i, j)
				require.Equal(t, again.State.Encode(), once.State.Encode(), name)
				require.Equal(t, again.State.Hash(), once.State.Hash(), name)
				require.Equal(t, again.Record, once.Record, name)
				require.Equal(t, again.Enacted, once.Enacted, name)
				require.Equal(t, again.Validators, once.Validators, name)
				if i+j > 0 {
					require.NotEqual(t, hash, once.State.Hash(), name)
				}
			}
		}
	}
	require.Equal(t, hash, base.State.Hash())
	require.Equal(t, model, app.ModelHash(base.State.Model))
}
