package explorer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

// TestVerifyLines: commands have the height and the hash of a header of the chain. They name a node
// on the explorer's own machine and no other.
func TestVerifyLines(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	require.Contains(t, get(s, "/round/0/2").Body.String(), "spdl verify round 0 2 --trust-height 6 --trust-hash 06"+
		strings.Repeat("0", 62)+" --node NODE")
	for _, path := range []string{"/round/0/2", "/model"} {
		require.Contains(t, get(s, path).Body.String(), "--trust-height 6 --trust-hash 06", path)
	}
	for address, want := range map[string]string{
		"tcp://127.0.0.1:26657": "tcp://127.0.0.1:26657", "http://localhost:1": "tcp://localhost:1",
		"tcp://[::1]:26657": "tcp://[::1]:26657", "tcp://10.1.2.3:26657": "NODE", "tcp://a.example:26657": "NODE",
		"%": "NODE",
	} {
		require.Equal(t, want, shownNode(address), address)
	}
}

// TestVerifyLineWithoutHeader: words in capitals stand for a header that the node does not give.
func TestVerifyLineWithoutHeader(t *testing.T) {
	f := newFake(6, "x")
	f.down = true
	require.Contains(t, get(over(t, f, Options{}), "/verify").Body.String(), "--trust-height HEIGHT --trust-hash HASH")
}

// TestVerifyPage: the page has the height and the hash of a block, the one that is asked for, and may
// run WebAssembly and connect to its own server alone. Without the verifier it says so, and the
// navigation does not lead there.
func TestVerifyPage(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	w := get(s, "/verify")
	require.Equal(t, 200, w.Code)
	require.Equal(t, pages.VerifierPolicy, w.Header().Get("Content-Security-Policy"))
	require.Equal(t, policy, get(s, "/model").Header().Get("Content-Security-Policy"))
	require.Contains(t, get(s, "/model").Body.String(), `href="/verify"`)
	text := w.Body.String()
	_, err := pages.Assets.Open("assets/verify.wasm.gz")
	built := err == nil
	require.Equal(t, built, strings.Contains(text, `<li><a href="/verify"`),
		"the navigation leads to what is there")
	require.Contains(t, text, "--trust-hash 06"+strings.Repeat("0", 62))
	require.Equal(t, built, !strings.Contains(text, "<code>make verify-page build</code>"))
	require.Equal(t, built, strings.Contains(text, `value="06`+strings.Repeat("0", 62)+`"`))
	require.Contains(t, get(s, "/verify?height=3").Body.String(), "--trust-hash 03"+strings.Repeat("0", 62))
	require.Equal(t, 400, get(s, "/verify?height=x").Code)
	for _, name := range []string{"verify.js", "verify-worker.js"} {
		w := get(s, "/assets/"+name)
		require.Equal(t, 200, w.Code)
		require.Equal(t, pages.VerifierPolicy, w.Header().Get("Content-Security-Policy"))
	}
	dir := t.TempDir()
	if err := pages.WriteVerifyPage(dir); !built {
		require.ErrorContains(t, err, "make verify-page")
		return
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	require.NotContains(t, string(page), "://")
	require.NotContains(t, string(page), `src="/`)
	require.NotContains(t, string(page), `href="/`)
}
