package chainview

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// TestSpentBy: the ledger less the costs since is what the ledger was, where batches are sampled, where
// they are full, and where they are full after an epoch of sampled ones.
func TestSpentBy(t *testing.T) {
	sampled, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: 1.5})
	require.NoError(t, err)
	full, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 1, NoiseMultiplier: 15})
	require.NoError(t, err)
	for _, c := range []struct{ before, cost []uint64 }{{nil, sampled}, {nil, full}, {sampled, full}, {full, sampled}} {
		priv := params.Privacy{Cost: c.cost, Delta: 1e-6}
		before := params.Privacy{Cost: c.before}.PayFor(nil, 3)
		people := []app.Participant{{Index: 0, Spent: before}, {Index: 1, Spent: before}}
		var records []*app.Record
		var want []float64
		for round := range uint64(20) {
			r := &app.Record{Round: round}
			for i := range people {
				if i == 1 && round%3 == 0 { // absent
					continue
				}
				r.Contributions = append(r.Contributions, app.Contribution{Participant: uint32(i)})
				people[i].Spent = priv.Pay(people[i].Spent)
			}
			records = append(records, r)
			epsilon, err := accountant.ChainEpsilon(people[0].Spent, priv.Delta)
			require.NoError(t, err)
			want = append(want, epsilon)
		}
		for i, got := range SpentBy(priv, people, records) {
			require.Equal(t, want[i], *got)
		}
		require.Nil(t, SpentBy(params.Privacy{}, people, records)[3])
	}
}

// TestNoMargin: a rule that selects no gradients has no margin in JSON, and none on the page.
func TestNoMargin(t *testing.T) {
	zero := int64(0)
	require.Nil(t, MarginOf(&app.Record{Margin: -1}))
	require.Equal(t, &zero, MarginOf(&app.Record{}))
	raw, err := json.Marshal(PointOf(&app.Record{Margin: -1}))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"margin":null`)
}
