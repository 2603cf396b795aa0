package params_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// TestUnit: the unit group needs Poisson batches and noise, and for a table a group column. A group
// column needs the unit group. The parameters survive their encoding.
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
		{"", func(p *params.Params) { p.Model = images() }},
		{"batches of fixed size", func(p *params.Params) { p.Model, p.Privacy.SamplingRate = images(), 0 }},
		{"", func(p *params.Params) { p.Model = externalModel() }},
		{"batches of fixed size", func(p *params.Params) { p.Model, p.Privacy.SamplingRate = externalModel(), 0 }},
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
		require.Equal(t, p.Privacy.Unit != "" && p.Model.Table == nil && p.Model.Kind != params.ModelExternal,
			p.GroupsImages())
		data, err := p.Marshal()
		require.NoError(t, err)
		again, err := params.Decode(data)
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
}

// images is a model of images. Their groups are in a file of each participant.
func images() params.Model {
	return params.Model{Kind: params.ModelSoftmax, Inputs: 144, Classes: 5, Pool: 1, PixelScale: 255}
}

// externalModel is a model whose trainer knows the groups.
func externalModel() params.Model {
	return params.Model{Kind: params.ModelExternal, Clipping: params.ClippingSum, Tensors: []params.Tensor{
		{Name: "w", Shape: []uint32{2, 4}, Init: params.InitNormal}}}
}

// TestNeighbours: each unit names what it samples, and between which data sets its guarantee holds.
func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		p           params.Privacy
		says, units string
	}{
		{params.Privacy{Unit: params.UnitGroup, SamplingRate: 0.1}, "one group of one participant, all its examples",
			"groups"},
		{params.Privacy{SamplingRate: 0.1}, "one example of one participant, added or removed", "examples"},
		{params.Privacy{}, "replaced by one whose gradient is zero", "examples"},
	} {
		require.Contains(t, c.p.Neighbours(), c.says)
		require.Equal(t, c.units, c.p.Units())
	}
}

// TestFits: a batch is meant for batch/rate examples, give or take a factor of two; a batch of fixed
// size fits any number.
func TestFits(t *testing.T) {
	p := params.Privacy{Batch: 30, SamplingRate: 0.1}
	for examples, fits := range map[int]bool{149: false, 150: true, 300: true, 600: true, 601: false} {
		n, ok := p.Fits(examples)
		require.Equal(t, 300, n)
		require.Equal(t, fits, ok, examples)
	}
	n, ok := params.Privacy{Batch: 30}.Fits(7)
	require.Equal(t, 7, n)
	require.True(t, ok)
}
