package trainer

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestParquet: a contained trainer gets a Parquet file as a CSV file of the same name in a folder that the owner alone
// may read, which goes with the trainer, and with one that does not start. A study of Parquet reads the file itself.
func TestParquet(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	left := func() []string {
		files, err := filepath.Glob(filepath.Join(temp, "spdl-data-*", "*"))
		require.NoError(t, err)
		return files
	}
	data, err := filepath.Abs(filepath.Join("..", "..", "model", "table", "testdata", "pima-arrow-delta-v2.parquet"))
	require.NoError(t, err)
	c, h := study(t, "data")
	c.Share.Data = data
	p, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.NoError(t, err, h)
	t.Cleanup(p.Close)
	files := left()
	require.Len(t, files, 1)
	for path, mode := range map[string]fs.FileMode{files[0]: 0o600, filepath.Dir(files[0]): 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	p.Close()
	require.Contains(t, h.String(), "data pregnant,glucose,pressure,triceps,insulin,mass,pedigree,age,diabetes 240 "+
		"pima-arrow-delta-v2.csv")
	require.Empty(t, left())
	p.Close() // does nothing more

	c, _ = study(t, "crash-at-start")
	c.Share.Data = data
	_, err = Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.ErrorIs(t, err, ErrTrainer)
	require.Empty(t, left())

	cut := filepath.Join(t.TempDir(), "cut.parquet")
	require.NoError(t, os.WriteFile(cut, []byte("PAR1"), 0o600))
	c.Share.Data = cut
	_, err = Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.ErrorContains(t, err, "cut.parquet as Parquet: its end is missing")
	require.Empty(t, left())

	m := linear(params.ClippingRows)
	m.Config = `{"data": "data.parquet"}`
	c.Share.Data = data
	forget, err := c.plainData(m)
	require.NoError(t, err)
	require.NoError(t, forget())
	require.Equal(t, data, c.Share.Data)
}
