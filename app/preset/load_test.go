package preset

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoad: the output of spdl query params is read back unchanged. A file with an unknown field, a
// second value or no end is rejected, and one that is no JSON object, or has a fault within, is told from these.
func TestLoad(t *testing.T) {
	write := func(text []byte) string {
		file := filepath.Join(t.TempDir(), "params.json")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	model, err := LoadModel(write([]byte(`{"kind": "softmax", "inputs": 784}`)))
	require.NoError(t, err)
	require.Equal(t, uint32(784), model.Inputs)
	for want, text := range map[string][]byte{
		"inputs is given twice":                             []byte(`{"inputs": 3, "inputs": 4}`),
		`name "Inputs"`:                                     []byte(`{"Inputs": 3}`),
		`unknown field "inptus"`:                            []byte(`{"inptus": 784}`),
		"line 1, column 3: invalid":                         []byte(`{}{}`),
		"empty, want a JSON object":                         []byte("\n"),
		"begins with `\"age\",\"sex\"`, want a JSON object": []byte("\"age\",\"sex\"\n61,0\n"),
		"line 2, column 12: invalid character":              []byte("{\"inputs\":\n  [1, 2, 3 4]}"),
		"line 3, column 8: invalid":                         []byte("{\n\"kind\": \"softmax\",\n\"a\":   .5}"),
		"more than 1048576 bytes":                           append([]byte("{}"), bytes.Repeat([]byte{' '}, 1<<20)...),
	} {
		file := write(text)
		_, err := LoadModel(file)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, file)
		_, err = Load(file)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		`{"inputs":"3"}`:   "line 1, column 13: inputs: found string, want a whole number in its range",
		`{"inputs":-1}`:    "inputs: found number -1, want a whole number in its range",
		`{"kind":[]}`:      "kind: found array, want a string",
		`{"tensors":true}`: "tensors: found bool, want a list",
	} {
		_, err = LoadModel(write([]byte(text)))
		require.ErrorContains(t, err, want)
	}
	model, err = LoadModel(write([]byte("\ufeff{\"inputs\": 784}")))
	require.NoError(t, err)
	require.Equal(t, uint32(784), model.Inputs)
	_, err = Load("/dev/zero")
	require.EqualError(t, err, "/dev/zero: more than 1048576 bytes")
}
