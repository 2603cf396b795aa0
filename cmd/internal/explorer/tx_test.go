package explorer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTransactionSays: whose it is, when, and what it says in words; its bytes are folded.
func TestTransactionSays(t *testing.T) {
	s := over(t, newFake(6, "node"), Options{})
	w := get(s, "/tx/aa"+strings.Repeat("0", 62))
	require.Equal(t, http.StatusOK, w.Code)
	page := w.Body.String()
	for _, text := range []string{"Transaction: join", "✕ code 2", `<time datetime="1970-01-01T00:00:03Z"`,
		"<details><summary>", "Signed hash"} {
		require.Contains(t, page, text)
	}
}
