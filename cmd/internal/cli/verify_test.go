package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProofExitCodes: wrong use is 2, what is not proven 1, nobody there 3.
func TestProofExitCodes(t *testing.T) {
	empty := t.TempDir()
	full := filepath.Join(empty, "full.npz")
	require.NoError(t, os.WriteFile(full, nil, 0o600))
	hash := strings.Repeat("ab", 32)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"model explode", 2, "explode"},
		{"verify explode", 2, "explode"},
		{"verify model", 2, "accepts 1 arg"},
		{"verify model none --trust-height 1", 2, "--trust-hash"},
		{"verify model none --trust-hash 00 --trust-height 1", 2, "64 hex digits"},
		{"verify model none --trust-hash " + hash, 2, "--trust-height"},
		{"verify model none --trust-height 1 --trust-period -1s --trust-hash " + hash, 2, "--trust-period"},
		{"verify model " + filepath.Join(empty, "none") + " --trust-height 1 --trust-hash " + hash, 1, "none"},
		{"verify model verify_test.go --trust-height 1 --trust-hash " + hash, 1, "not an exported model"},
		{"verify round --node tcp://127.0.0.1:1 --trust-height 1 --trust-hash " + hash, 3, "no node answers"},
		{"verify round --node tcp://127.0.0.1:1 --witness foo --trust-height 1 --trust-hash " + hash, 2,
			`--witness: node address "foo"`},
		{"verify participant 0 --max-age -1s --trust-height 1 --trust-hash " + hash, 2, "--max-age is -1s"},
		{"verify round 1 2 3 --trust-height 1 --trust-hash " + hash, 2, "at most 2"},
		{"verify participant --trust-height 1 --trust-hash " + hash, 2, "accepts 1 arg"},
		{"verify participant 0 --node http://%zz --trust-height 1 --trust-hash " + hash, 2, "invalid URL"},
		{"model export --format gguf", 2, "gguf"},
		{"model export --format npz --out m.safetensors", 2, "--format is npz, and --out is m.safetensors, which ends in " +
			".safetensors: leave one of them out"},
		{"model export --out m.pt", 2, "--out is m.pt, want a name that ends in .safetensors, .npz, or --format"},
		{"model export --out " + full, 1, full + " exists already, and nothing is overwritten"},
		{"model export --format npz --out m.pt --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"model export --out m.NPZ --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"model export --epoch 1", 2, "--epoch needs --round"},
		{"model export --round x", 2, "is no number"},
		{"model export --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"model eval verify_test.go", 1, "not an exported model"},
		{"query round 1 2 --prove --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"query leader --prove", 2, "unknown flag"},
	} {
		stdout, stderr, code := spdl(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "spdl %s: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, "spdl %s", c.args)
		require.Empty(t, stdout, "spdl %s", c.args)
	}
}
