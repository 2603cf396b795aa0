package home

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// TestPortsNameTheirKey: an address that another program has, two keys with one address, and CometBFT's own error
// name the configuration key.
func TestPortsNameTheirKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().String()
	c := DefaultConfig()
	c.RPC.ListenAddress, c.P2P.ListenAddress = "tcp://"+stage.Address(t), "tcp://"+taken
	err = CheckPorts(c)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "config.toml: p2p.laddr: ")

	c.P2P.ListenAddress = c.RPC.ListenAddress
	require.ErrorContains(t, CheckPorts(c), "config.toml: rpc.laddr: ")
	c.P2P.ListenAddress = "tcp://" + stage.Address(t)
	require.NoError(t, CheckPorts(c))

	c.P2P.ListenAddress = "tcp://" + taken
	late := fmt.Errorf("start: %w", &net.OpError{Op: "listen", Net: "tcp", Addr: l.Addr(),
		Err: os.NewSyscallError("bind", syscall.EADDRINUSE)})
	require.ErrorContains(t, ListenError(c, late), "config.toml: p2p.laddr: start: listen tcp "+taken)
	require.Equal(t, os.ErrClosed, ListenError(c, os.ErrClosed))
}
