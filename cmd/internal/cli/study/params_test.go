package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func TestReadParams(t *testing.T) {
	want, err := preset.New("paper", 4)
	require.NoError(t, err)
	data, err := json.Marshal(want)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	got, err := readParams(file)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, os.WriteFile(file, bytes.Replace(data, []byte(`"rounds"`), []byte(`"rownds"`), 1), 0o600))
	_, err = readParams(file)
	require.ErrorContains(t, err, "rownds")
	require.NoError(t, os.WriteFile(file, append(data, '{'), 0o600))
	_, err = readParams(file)
	require.ErrorContains(t, err, fmt.Sprintf("line 1, column %d: invalid character '{' after top-level value",
		len(data)+1))
	require.ErrorAs(t, err, &command.UsageError{})
	_, err = readParams(file + "x")
	require.ErrorAs(t, err, &command.UsageError{})
}

// TestEndsOfRows: a table of somebody's rows brings a warning about the ends of its columns, and a
// file of two rows, which holds agreed bounds, none.
func TestEndsOfRows(t *testing.T) {
	const bounds = "age,dose,diagnosis\n0,0,cold\n120,50,flu\n"
	warned := func(text string) string {
		file, examples := filepath.Join(t.TempDir(), "table.csv"), 2000
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		o := Options{Origin: Origin{Data: file, Label: "diagnosis"}, examples: &examples}
		var said []string
		_, err := o.fromPreset(4, func(w string) { said = append(said, w) })
		require.NoError(t, err)
		return strings.Join(said, "\n")
	}
	require.Empty(t, warned(bounds))
	require.Contains(t, warned(bounds+"61,12,flu\n34,7,cold\n"), "no epsilon pays for them")
	require.NotContains(t, warned(bounds+"61,12,flu\n34,7,cold\n"), "class \"")
	doubtful := warned(bounds + "61,12,flu\n34,7,cold\n9,9,Flu\n8,1,1\n7,1,1\n6,2,01\n5,2,01\n")
	require.Contains(t, doubtful, `one row alone has the class "Flu"`)
	require.Contains(t, doubtful, `"Flu" and "flu" are two classes`)
	require.Contains(t, doubtful, `"01" and "1" are two classes`)
	require.Equal(t, 4, strings.Count(doubtful, "\n")+1, doubtful)
}

// TestFewerMembers: parameters whose f the members that are left do not withstand are rejected with the
// remedy.
func TestFewerMembers(t *testing.T) {
	p, err := preset.New("default", 4)
	require.NoError(t, err)
	require.ErrorContains(t, new(Options).change(&p, 3), "at most 0 (N >= 3f+1): --byzantine 0")
	none := 0
	require.NoError(t, (&Options{byzantine: &none}).change(&p, 3))
}
