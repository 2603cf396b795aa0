package home

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
)

// TestHomePolicy: an epoch's parameters are compared with genesis or app.toml, and this program's
// own accountant counts the spend, whatever costs the parameters have.
func TestHomePolicy(t *testing.T) {
	p, err := preset.New("pixels", 4)
	require.NoError(t, err)
	p.Privacy.SamplingRate, p.Privacy.Batch = 0.1, 1500
	require.NoError(t, preset.SetEpsilon(&p, 2))
	none := params.Privacy{Mechanism: params.MechanismNone, Batch: 16}
	genesis := p.Privacy
	own, err := checkPolicy(genesis, p.Privacy)
	require.NoError(t, err)
	require.Equal(t, p.Privacy.Participations(nil), own.Participations(nil), "as the chain counts")
	require.Equal(t, none, mustPermit(t, none, none), "a chain without a guarantee demands none")

	for says, change := range map[string]func(*params.Privacy){
		`mechanism "none"`:       func(q *params.Privacy) { *q = none },
		"noise multiplier 0.001": func(q *params.Privacy) { q.NoiseMultiplier = 0.001 },
		"noise multiplier NaN":   func(q *params.Privacy) { q.NoiseMultiplier = math.NaN() },
	} {
		q := p.Privacy
		change(&q)
		_, err := checkPolicy(genesis, q)
		require.ErrorIs(t, err, worker.ErrPolicy, says)
		require.ErrorContains(t, err, says)
	}

	// Costs of zero and an unlimited budget in the parameters have no effect.
	q := p.Privacy
	q.Cost, q.Budget = make([]uint64, params.LedgerColumns), make([]uint64, params.LedgerColumns)
	for i := range q.Cost {
		q.Cost[i], q.Budget[i] = 1, 1<<60
	}
	q.Epsilon = 1000
	require.Equal(t, own.Participations(nil), mustPermit(t, genesis, q).Participations(nil))

	q = p.Privacy
	q.SamplingRate = 1 // a higher rate reveals more of every example
	require.Less(t, mustPermit(t, genesis, q).Participations(nil), own.Participations(nil)/10)

	// The members decide later epochs, unless app.toml says otherwise.
	later := worker.Task{Epoch: 1, Params: params.Params{Privacy: none}}
	_, err = checkPolicy(requiredPrivacy(genesis, WorkerConfig{}, later), none)
	require.NoError(t, err)
	for _, w := range []WorkerConfig{{MinNoiseMultiplier: 1}, {MaxEpsilon: 3}} {
		_, err = checkPolicy(requiredPrivacy(genesis, w, later), none)
		require.ErrorIs(t, err, worker.ErrPolicy)
	}
	later.Params = p
	later.Params.Privacy.Epsilon = 1000
	require.Equal(t, own.Participations(nil), mustPermit(t,
		requiredPrivacy(genesis, WorkerConfig{MaxEpsilon: genesis.Epsilon}, later), p.Privacy).Participations(nil))
	_, err = checkPolicy(requiredPrivacy(genesis, WorkerConfig{MinNoiseMultiplier: 2 * genesis.NoiseMultiplier},
		worker.Task{Params: p}), p.Privacy)
	require.ErrorIs(t, err, worker.ErrPolicy, "of the first epoch too")

	// What epsilon counts for is pinned, too: a column of rows in place of patients protects nobody.
	table := params.Params{Model: params.Model{Table: &params.Table{Group: "row_id"}}, Privacy: p.Privacy}
	table.Privacy.Unit = params.UnitGroup
	for _, unit := range []string{"group:patient_id", "group", "example"} {
		_, err = policyOf(genesis, WorkerConfig{MaxEpsilon: 2, Unit: unit})(worker.Task{Epoch: 1, Params: table})
		require.ErrorIs(t, err, worker.ErrPolicy)
		require.ErrorContains(t, err, fmt.Sprintf("the unit of privacy is \"group:row_id\", want %q", unit))
	}
	for _, unit := range []string{"", "group:row_id"} {
		_, err = policyOf(genesis, WorkerConfig{MaxEpsilon: 2, Unit: unit})(worker.Task{Epoch: 1, Params: table})
		require.NoError(t, err)
	}

	half := genesis
	half.Epsilon = genesis.Epsilon / 2
	require.Less(t, mustPermit(t, half, p.Privacy).Participations(nil), own.Participations(nil))
}

func mustPermit(t *testing.T, demand, p params.Privacy) params.Privacy {
	t.Helper()
	own, err := checkPolicy(demand, p)
	require.NoError(t, err)
	return own
}
