package shape

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
	require.ErrorContains(t, err, "more than one")
	require.ErrorAs(t, err, &command.UsageError{})
	_, err = readParams(file + "x")
	require.ErrorAs(t, err, &command.UsageError{})
}
