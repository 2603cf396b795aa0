package params_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// centred returns a table with all forms of typical values, and its model.
func centred(t *testing.T) params.Model {
	m := schema()
	m.Kind, m.Inputs, m.NoBias = params.ModelLogistic, m.Inputs+1, true
	require.NoError(t, json.Unmarshal([]byte(`{"rate": 0.1, "label": "y", "classes": ["0", "1"], "weights": [1, 9],
		"columns": [{"name": "a", "low": -5, "high": 5, "typical": 0, "missing": {"fill": 4, "indicator": true, "share": 0.25}},
		{"name": "b", "low": 0, "high": 10, "missing": {"fill": 7.5}}, {"name": "c", "values": ["x", "y", "z"],
		"shares": [0.5, 0.2, 0]}]}`), m.Table))
	return m
}

// TestCentre: a typical row becomes inputs of 0. Without a typical value the fill stands for it, or
// the middle, and categories are alike.
func TestCentre(t *testing.T) {
	m := centred(t)
	require.NoError(t, m.Table.Validate(m))
	no := 0.5 / 127.5
	require.InDeltaSlice(t, []float64{0, no + 0.25*(1-no), 0.5, no + 0.5*(1-no), no + 0.2*(1-no), no}, m.Table.Centre(), 1e-15)
	m.Table.Columns = []params.Column{{Name: "a", Low: 2, High: 4}, {Name: "c", Values: []string{"x", "y"}}}
	require.InDeltaSlice(t, []float64{0, (1 + no) / 2, (1 + no) / 2}, m.Table.Centre(), 1e-15)
	raw, err := m.Marshal() // typical 0 is another value than none
	require.NoError(t, err)
	var again params.Model
	require.NoError(t, again.Unmarshal(raw))
	require.True(t, again.Equal(m))
}

// TestWeightedRate: weights shift the rate, within bounds.
func TestWeightedRate(t *testing.T) {
	m := centred(t)
	require.InDelta(t, 0.5, m.Table.WeightedRate(), 1e-15)
	m.Table.Weights = nil
	require.Equal(t, 0.1, m.Table.WeightedRate())
	m.Table.Rate = 0
	require.Equal(t, 0.5, m.Table.WeightedRate())
	m.Table.Weights = []float64{1000, 0.001}
	require.InDelta(t, 0.5, m.Table.WeightedRate(), 1e-9, "weights are taken to balance the classes")
	m.Table.Rate = 0.5
	require.Equal(t, 0.001, m.Table.WeightedRate())
}

// TestTypicalRefuses: a typical value that no row can have is rejected.
func TestTypicalRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(t *params.Table)
	}{
		{"has typical 6, want a number within its ends, -5 to 5", func(t *params.Table) { *t.Columns[0].Typical = 6 }},
		{"has typical NaN", func(t *params.Table) { *t.Columns[0].Typical = math.NaN() }},
		{"has typical 0", func(t *params.Table) { t.Columns[2].Typical = new(float64) }},
		{"has 2 shares", func(t *params.Table) { t.Columns[2].Shares = []float64{0.5, 0.5} }},
		{"with sum 1.2", func(t *params.Table) { t.Columns[2].Shares[0] = 1 }},
		{"has a share of NaN", func(t *params.Table) { t.Columns[2].Shares[0] = math.NaN() }},
		{"has a share 2 of missing", func(t *params.Table) { t.Columns[0].Missing.Share = 2 }},
		{"has a share 0.5 of missing", func(t *params.Table) { t.Columns[1].Missing.Share = 0.5 }},
		{"has rate 1 and 2 classes, want 0.001 to 0.999", func(t *params.Table) { t.Rate = 1 }},
		{"has rate NaN", func(t *params.Table) { t.Rate = math.NaN() }},
	} {
		m := centred(t)
		c.change(m.Table)
		require.ErrorContains(t, m.Table.Validate(m), c.want)
	}
}
