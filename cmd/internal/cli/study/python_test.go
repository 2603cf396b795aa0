package study

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/stage"
)

// TestImportsRunsNoFile: the question whether an interpreter has a module runs no file of the working
// directory, which may be the trainer's, even if $PYTHONPATH names it.
func TestImportsRunsNoFile(t *testing.T) {
	python, marker := stage.Tool(t, "python3"), filepath.Join(t.TempDir(), "marker")
	folder := t.TempDir()
	for _, module := range []string{"importlib", "sitecustomize"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, module+".py"), []byte("open('"+marker+"', 'w')\n"), 0o644))
	}
	t.Chdir(folder)
	t.Setenv("PYTHONPATH", ".")
	require.True(t, imports(t.Context(), python, "json"))
	require.NoFileExists(t, marker)
}

// TestVerdict: a trainer that answered too late has broken no promise.
func TestVerdict(t *testing.T) {
	late := trainer.Report{Refuted: true, Failure: trainer.ErrLate}
	require.NotErrorIs(t, verdict(t.Context(), late), ErrRefuted)
	require.ErrorIs(t, verdict(t.Context(), late), trainer.ErrLate)
	require.ErrorIs(t, verdict(t.Context(), trainer.Report{Refuted: true}), ErrRefuted)
	require.NoError(t, verdict(t.Context(), trainer.Report{}))
}
