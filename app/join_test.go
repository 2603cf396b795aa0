package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestRegistrationIsJudgedOnce: M1 is not checked again for a Join that has passed it, whether the
// Join comes alone or with an Approve: the test spoils a proof of the decoded Join, and no check
// fails. M1 is checked for all other bytes, even if they register the same keys.
func TestRegistrationIsJudgedOnce(t *testing.T) {
	spoil := func(j *tx.Join) { j.VrfProof[7] ^= 1 }
	for name, c := range map[string]struct {
		pack func(*tx.Tx) *tx.Tx
		join func(*tx.Tx) *tx.Join
	}{
		"alone": {func(j *tx.Tx) *tx.Tx { return j }, func(x *tx.Tx) *tx.Join { return x.Body.(*tx.Join) }},
		"carried": {func(j *tx.Tx) *tx.Tx { return bring(1, j) }, func(x *tx.Tx) *tx.Join {
			j, err := x.CarriedJoin()
			require.NoError(t, err)
			x.Body.(*tx.Approve).Join[7] ^= 1 // the carried bytes are not decoded again either
			return j.Body.(*tx.Join)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.State(4)
			x, err := tx.Decode(c.pack(apptest.Join(4)).Raw)
			require.NoError(t, err)
			require.NoError(t, s.Admit(x))
			spoil(c.join(x))
			require.NoError(t, s.Admit(x), "judged when it was admitted")
			require.Equal(t, []*tx.Tx{x}, s.Operations([]*tx.Tx{x}, nil, 0))
			_, err = s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{x}})
			require.NoError(t, err)

			forged, err := tx.Decode(c.pack(joinAs(4, func(j *tx.Join) { spoil(j) })).Raw)
			require.NoError(t, err)
			for range 2 {
				require.ErrorIs(t, s.Admit(forged), app.ErrIdentity)
				require.Empty(t, s.Operations([]*tx.Tx{forged}, nil, 0))
				_, err = s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{forged}})
				require.ErrorIs(t, err, app.ErrIdentity)
			}
		})
	}
}
