package params_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// TestUnit: a group as the unit needs a table with groups, Poisson batches and noise; groups need the
// unit. Without the unit the encoding has no trace of it.
func TestUnit(t *testing.T) {
	own := preset.Own{Data: &preset.Data{Examples: 4000, Classes: 2, Table: &params.Table{Label: "y", Group: "id",
		Classes: []string{"0", "1"}, Columns: []params.Column{{Name: "a", High: 1}}}}}
	for _, c := range []struct {
		want   string
		change func(*params.Params)
	}{
		{"", func(*params.Params) {}},
		{`privacy.unit is "row", want "group"`, func(p *params.Params) { p.Privacy.Unit = "row" }},
		{"the groups would not be protected", func(p *params.Params) { p.Privacy.Unit = "" }},
		{"names no column group", func(p *params.Params) { p.Model.Table.Group = "" }},
		{`"y" stands there twice`, func(p *params.Params) { p.Model.Table.Group = "y" }},
		{"batches of fixed size", func(p *params.Params) { p.Privacy.SamplingRate = 0 }},
		{"", func(p *params.Params) { p.Privacy.Unit, p.Model.Table.Group = "", "" }},
	} {
		p, err := preset.Make("default", 4, own)
		require.NoError(t, err)
		table := *p.Model.Table
		p.Model.Table = &table
		c.change(&p)
		if _, err = p.Validate(4); c.want != "" {
			require.ErrorContains(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		data, err := p.Marshal()
		require.NoError(t, err)
		again, err := params.Decode(data)
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
}
