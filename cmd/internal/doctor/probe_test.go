package doctor_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/probe"
)

// TestClosedBeforeHandshake: a listener that closes a connection at once may be a node with a limit on
// unknown addresses; a listener that speaks another protocol is no node.
func TestClosedBeforeHandshake(t *testing.T) {
	for _, c := range []struct{ sends, says string }{
		{"", "closed the connection before the handshake: it may limit unknown addresses"},
		{strings.Repeat("HTTP/1.1 400 Bad Request\r\n", 100), "answers, and is no node"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = conn.Write([]byte(c.sends))
				if c.sends == "" {
					_ = conn.Close()
				}
			}
		}()
		require.ErrorContains(t, probe.Node(context.Background(), "aa@"+l.Addr().String()), c.says)
	}
}
