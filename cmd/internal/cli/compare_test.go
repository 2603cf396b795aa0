package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/audit/audittest"
)

// TestCompareErrors: what cannot be compared is said before anything is replayed.
func TestCompareErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	empty := func(name, rule string, inputs uint32) string { // an archive of a chain without blocks
		c := audittest.New(t, 4, func(p *params.Params) { p.Model.Inputs, p.Rule.Name = inputs, rule })
		var archive bytes.Buffer
		_, err := audit.WriteArchive(t.Context(), &archive, c.Source(), nil)
		require.NoError(t, err)
		return file(name+".spdl", archive.String())
	}
	softmax, wide := empty("softmax", "multi-krum", 64), empty("wide", "multi-krum", 65)
	other := empty("other", "median", 64)
	saved := file("saved.json", `{"runs":[{"name":"saved","model":"{\"kind\":\"mlp\"}","points":[{}]}]}`)
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"compare", "a", "./a"}, 2, "a run is given twice"},
		{[]string{"compare", filepath.Join(dir, "no"), "b"}, 1, "want the home of a stopped node"},
		{[]string{"compare", dir, "b"}, 1, "has no config/genesis.json"},
		{[]string{"compare", dir + "@x", "b"}, 2, "want the number of an epoch"},
		{[]string{"compare", file("empty.json", "{}"), "b"}, 1, "there is no run in this file"},
		{[]string{"compare", "a", "b", "--out", "x.csv"}, 2, "--out is x.csv, want a name that ends in .html or .htm: " +
			"it is an HTML page, and --csv writes the points"},
		{[]string{"compare", "a", "b", "--csv", "x.html"}, 2, "--csv is x.html, want a name that ends in .csv"},
		{[]string{"compare", "a", "b", "--out", file("old.html", "")}, 1,
			"old.html exists already, and nothing is overwritten"},
		{[]string{"compare", "a", "b", "--csv", file("old.csv", "")}, 1, "old.csv exists already"},
		{[]string{"compare", softmax, wide}, 2,
			"the runs train different models: model.inputs is 64 in softmax and 65 in wide"},
		{[]string{"compare", softmax}, 2, "want two runs or more to compare"},
		{[]string{"compare", softmax, softmax + "@0"}, 2, "softmax and softmax.spdl@0 are of the same chain"},
		{[]string{"compare", saved, wide}, 2,
			"the runs train different models: model.kind is mlp in saved and softmax in wide"},
		{[]string{"compare", softmax, other}, 1, "no round is closed"},
		{[]string{"compare", file("run.json", `{"runs":[{"name":"r"}]}`), "b"}, 1, "no round is closed"},
		{[]string{"tensorboard", "a", "a"}, 2, "a run is given twice"},
		{[]string{"tensorboard", "a", "--points", "3"}, 2, "want an even number"},
	} {
		_, errs, code := spdl(t, x.args...)
		require.Equal(t, x.code, code, "%v: %s", x.args, errs)
		require.Contains(t, errs, x.says, x.args)
	}
}
