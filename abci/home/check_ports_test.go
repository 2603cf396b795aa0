package home

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// free returns an unused address, with a port below the ports that Linux gives to outgoing
// connections.
func free(t *testing.T) string {
	t.Helper()
	for range 1000 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))); err == nil {
			defer l.Close()
			return fmt.Sprintf("tcp://%s", l.Addr())
		}
	}
	t.Fatal("no free port")
	return ""
}

// TestPortsNameTheirKey: an address that another program has, two keys with one address, and CometBFT's own error
// name the configuration key.
func TestPortsNameTheirKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().String()
	c := DefaultConfig()
	c.RPC.ListenAddress, c.P2P.ListenAddress = free(t), "tcp://"+taken
	err = CheckPorts(c)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "config.toml: p2p.laddr: ")

	c.P2P.ListenAddress = c.RPC.ListenAddress
	require.ErrorContains(t, CheckPorts(c), "config.toml: rpc.laddr: ")
	c.P2P.ListenAddress = free(t)
	require.NoError(t, CheckPorts(c))

	c.P2P.ListenAddress = "tcp://" + taken
	late := fmt.Errorf("start: %w", &net.OpError{Op: "listen", Net: "tcp", Addr: l.Addr(),
		Err: os.NewSyscallError("bind", syscall.EADDRINUSE)})
	require.ErrorContains(t, ListenError(c, late), "config.toml: p2p.laddr: start: listen tcp "+taken)
	require.Equal(t, os.ErrClosed, ListenError(c, os.ErrClosed))
}
