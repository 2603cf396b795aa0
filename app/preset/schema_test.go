package preset_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// TestSchema: a schema makes the table, with a file or without one, and Make fits the model to it.
func TestSchema(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	schema := write("table.json", `{"label": "y", "classes": ["0", "1"], "group": "id", "columns": [
		{"name": "a", "low": 0, "high": 1, "missing": {"fill": 0.5, "indicator": true}},
		{"name": "c", "values": ["u", "v"]}]}`)
	rows := write("rows.csv", "id,a,c,y\np,0,u,0\np,,v,1\nq,1,u,0\nr,1,v,1\ns,0,u,0\nt,0,u,1\n")
	d, err := preset.Source{Schema: schema}.Read()
	require.NoError(t, err)
	require.Zero(t, d.Examples)
	d, err = preset.Source{Path: rows, Schema: schema}.Read()
	require.NoError(t, err)
	require.Equal(t, 4, d.Examples, "four fifths of five groups")
	p, err := preset.Make("default", 4, preset.Own{Data: &d, Examples: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 5, p.Model.Inputs)
	require.Equal(t, params.ModelLogistic, p.Model.Kind)
	require.Equal(t, params.UnitGroup, p.Privacy.Unit)
	_, err = p.Validate(4)
	require.NoError(t, err)

	for want, s := range map[string]preset.Source{
		"the schema names both columns": {Path: rows, Schema: schema, Label: "y"},
		`unknown field "lable"`:         {Schema: write("typo.json", `{"lable": "y"}`)},
		"has fill 2": {Schema: write("fill.json", `{"label": "y", "classes": ["0", "1"], "columns": [
			{"name": "a", "high": 1, "missing": {"fill": 2}}]}`)},
		"0 classes and 0 columns": {Schema: write("label.json", `{"label": "y"}`)},
		"2 classes and 0 columns": {Schema: write("none.json", `{"label": "y", "classes": ["0", "1"]}`)},
		"the value is none":       {Path: write("bad.csv", "id,a,c,y\np,0,w,0\n"), Schema: schema},
	} {
		_, err := s.Read()
		require.ErrorContains(t, err, want)
	}
}
