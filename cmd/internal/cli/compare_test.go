package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompareErrors: what cannot be compared is said before anything is replayed.
func TestCompareErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
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
		{[]string{"compare", file("run.json", `{"runs":[{"name":"r"}]}`), "b"}, 1, "no round is closed"},
		{[]string{"tensorboard", "a", "a"}, 2, "a run is given twice"},
		{[]string{"tensorboard", "a", "--points", "3"}, 2, "want an even number"},
	} {
		_, errs, code := spdl(t, x.args...)
		require.Equal(t, x.code, code, "%v: %s", x.args, errs)
		require.Contains(t, errs, x.says, x.args)
	}
}
