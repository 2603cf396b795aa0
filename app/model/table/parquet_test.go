package table

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowsOf reads a file's header and rows.
func rowsOf(t *testing.T, path string) (rows [][]string) {
	f, err := stream(path)
	require.NoError(t, err, path)
	defer f.close()
	rows = append(rows, f.header)
	for {
		more, err := f.readRow()
		require.NoError(t, err, path)
		if !more {
			return rows
		}
		rows = append(rows, append([]string{}, f.row...))
	}
}

func TestParquetRows(t *testing.T) {
	want := rowsOf(t, filepath.Join("testdata", "pima.csv"))
	files, err := filepath.Glob(filepath.Join("testdata", "pima-*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 8)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			require.Equal(t, want, rowsOf(t, path))
		})
	}
	_ = errors.Is
	_ = io.EOF
	_ = os.Stat
	for _, r := range rowsOf(t, "testdata/jasa-duckdb-gzip.parquet")[:8] {
		t.Log(r)
	}
	for _, n := range []string{"arrow", "duckdb"} {
		for _, r := range rowsOf(t, "testdata/features-"+n+".parquet")[:4] {
			t.Log(r)
		}
	}
	_, err = stream("testdata/nested.parquet")
	t.Log(err)
}
