package signer

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/privval"
	"github.com/stretchr/testify/require"
)

// TestReconnects: a signer of blocks connects again after the node has ended the connection, as a
// killed node does, and does not read the old one without end.
func TestReconnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	endpoint := privval.NewSignerDialerEndpoint(log.NewNopLogger(), func() (net.Conn, error) {
		c, err := net.Dial("tcp", l.Addr().String())
		return reconnecting{c}, err
	}, privval.SignerDialerEndpointConnRetries(dialTries), privval.SignerDialerEndpointRetryWaitInterval(dialPause))
	key := privval.NewFilePV(ed25519.GenPrivKey(), "", filepath.Join(t.TempDir(), "state"))
	server := privval.NewSignerServer(endpoint, "chain", key)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Stop() })
	for range 3 {
		require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}
