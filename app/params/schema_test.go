package params_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// schema returns a table with all forms of columns, and its model.
func schema() params.Model {
	t := &params.Table{Label: "y", Classes: []string{"0", "1"}, Weights: []float64{1, 3}, Columns: []params.Column{
		{Name: "a", Low: 0, High: 10, Missing: &params.Missing{Fill: 4, Indicator: true}},
		{Name: "b", Low: 0, High: 10, Missing: &params.Missing{Fill: 4}},
		{Name: "c", Values: []string{"x", "y", "z"}, Others: true},
	}}
	return params.Model{Kind: params.ModelSoftmax, Inputs: 6, Classes: 2, Pool: 1, PixelScale: 1, Table: t}
}

// TestSchema: a table with categories, fills and weights is valid only within its bounds.
func TestSchema(t *testing.T) {
	m := schema()
	require.NoError(t, m.Table.Validate(m))
	require.True(t, m.Table.Prepares())
	plain := &params.Table{Columns: []params.Column{{Name: "a", High: 1}}}
	require.False(t, plain.Prepares())
	require.False(t, (*params.Table)(nil).Prepares())
	for _, c := range []struct {
		want   string
		change func(t *params.Table)
	}{
		{"the columns give 4 inputs", func(t *params.Table) {
			t.Columns[0].Missing.Indicator, t.Columns[2].Values = false, t.Columns[2].Values[1:]
		}},
		{`"x" stands there twice`, func(t *params.Table) { t.Columns[2].Values[1] = "x" }},
		{"also ends or a fill", func(t *params.Table) { t.Columns[2].High = 1 }},
		{"also ends or a fill", func(t *params.Table) { t.Columns[2].Missing = &params.Missing{} }},
		{"others without values", func(t *params.Table) { t.Columns[1].Others = true }},
		{"has fill 11, want it within the column's ends, 0 to 10", func(t *params.Table) { t.Columns[0].Missing.Fill = 11 }},
		{"has fill NaN", func(t *params.Table) { t.Columns[0].Missing.Fill = math.NaN() }},
		{"has 1 weights", func(t *params.Table) { t.Weights = t.Weights[:1] }},
		{`has weight 0 for class "1", want 0.001 to 1000`, func(t *params.Table) { t.Weights[1] = 0 }},
		{"has weight NaN", func(t *params.Table) { t.Weights[0] = math.NaN() }},
		{"has typical values, and model.inputs is without the constant",
			func(t *params.Table) { t.Columns[1].Typical = new(float64) }},
		{"has 3 columns and 0 classes", func(t *params.Table) { t.Classes = nil }},
		{"from 0 to 0", func(t *params.Table) { t.Columns[1].High = 0 }},
	} {
		m := schema()
		c.change(m.Table)
		require.ErrorContains(t, m.Table.Validate(m), c.want)
	}
	m = schema()
	m.Classes, m.Table.Classes = 0, nil
	require.NotPanics(t, func() { _ = m.Table.Validate(m) }, "validateLayers wants two classes, a file may have none")
}

// TestTableWithoutSchemaKeepsItsBytes: the encoding of a table without a schema, in protobuf and in
// JSON, has none of the fields of a schema.
func TestTableWithoutSchemaKeepsItsBytes(t *testing.T) {
	c := params.Column{Name: "a", Low: 1, High: 2}
	require.Equal(t, "0a016111000000000000f03f190000000000000040", hexOf(t, &c))
	text, err := json.Marshal(params.Table{Label: "y", Classes: []string{"0"}, Columns: []params.Column{c}})
	require.NoError(t, err)
	require.Equal(t, `{"label":"y","classes":["0"],"columns":[{"name":"a","low":1,"high":2}]}`, string(text))
}

func hexOf(t *testing.T, c *params.Column) string {
	raw, err := c.Marshal()
	require.NoError(t, err)
	return hex.EncodeToString(raw)
}
