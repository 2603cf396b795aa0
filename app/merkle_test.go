package app_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestSpecVectors: the code gives the test vectors in SPEC.md, section "The application hash".
func TestSpecVectors(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	for name, root := range map[string][32]byte{
		`leaf("a", "1")`: app.Root([]app.Pair{{Key: "a", Value: []byte("1")}}),
		`root()`:         app.Root(nil),
		`root over ("a", "1"), ("b", "22"), ("c", "")`: app.Root([]app.Pair{{Key: "a", Value: []byte("1")},
			{Key: "b", Value: []byte("22")}, {Key: "c"}}),
		`root over the list "x", "y"`:                app.Root(app.Indexed([][]byte{[]byte("x"), []byte("y")})),
		`model_hash of the two parameters 1.0, -0.5`: app.ModelHash([]float64{1, -0.5}),
	} {
		found := ""
		for _, line := range strings.Split(string(spec), "\n") {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok && strings.HasPrefix(strings.TrimSpace(rest),
				"= ") {
				found = strings.TrimPrefix(strings.TrimSpace(rest), "= ")
			}
			if found != "" && len(found) != 64 {
				found = "" // this line is the definition, not the vector
			}
		}
		require.Equal(t, hex.EncodeToString(root[:]), found, name)
	}
}

// TestModelHashIsTheRootOverChunks: ModelHash, which never encodes the whole model, gives the root
// over its chunks.
func TestModelHashIsTheRootOverChunks(t *testing.T) {
	for _, d := range []int{0, 1, 4095, 4096, 4097, 12288, 50000} {
		x := make([]float64, d)
		for i := range x {
			x[i] = 1 / float64(i+1)
		}
		require.Equal(t, app.Root(app.Indexed(app.Chunks(app.EncodeParameters(x)))), app.ModelHash(x), "d=%d", d)
	}
}
