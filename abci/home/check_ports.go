package home

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/cometbft/cometbft/config"
	cmtnet "github.com/cometbft/cometbft/libs/net"

	"github.com/spdl/spdl/internal/unixsocket"
)

// CheckPorts returns an error, with the configuration key, if an address in config.toml is in use
// or belongs to two keys. CometBFT's own error does not have the key. If the Prometheus port is in
// use, CometBFT only logs that, and runs without metrics.
func CheckPorts(c *config.Config) (err error) {
	for _, a := range listenAddresses(c) {
		l, failed := net.Listen("tcp", a[1])
		if failed != nil {
			return inUse(a[0], failed)
		}
		defer func() { err = errors.Join(err, l.Close()) }() // kept open to find one address under two keys
	}
	return nil
}

// Listen listens at an address of config.toml, tcp://host:port or unix:///path. A Unix socket is for
// processes of this user, and takes the place of one that a killed node has left behind. With log it
// is also for the listed user ids, and log gets the connections of others.
func Listen(address string, users []uint32, log func(string, ...any)) (net.Listener, error) {
	protocol, at := cmtnet.ProtocolAndAddress(address)
	if protocol != "unix" {
		return net.Listen(protocol, at)
	}
	l, err := unixsocket.Listen(at, users, log)
	if err != nil {
		return nil, err
	}
	if log == nil {
		return l.UnixListener, nil
	}
	return l, nil
}

// inUse adds the configuration key and the remedy to the error of a listener.
func inUse(key string, err error) error {
	return fmt.Errorf("config.toml: %s: %w (give this node an address of its own, or stop what listens there)", key, err)
}

// ListenError adds the configuration key to CometBFT's error that an address is in use. Another
// program may take an address after CheckPorts.
func ListenError(c *config.Config, err error) error {
	if strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) { // CometBFT keeps only the text
		for _, a := range listenAddresses(c) {
			if strings.Contains(err.Error(), " "+a[1]+":") {
				return inUse(a[0], err)
			}
		}
	}
	return err
}

// listenAddresses returns the keys and host:port of the TCP listeners in config.toml.
func listenAddresses(c *config.Config) (all [][2]string) {
	at := [][2]string{{"p2p.laddr", c.P2P.ListenAddress}, {"rpc.laddr", c.RPC.ListenAddress}}
	if c.Instrumentation.IsPrometheusEnabled() {
		at = append(at, [2]string{"instrumentation.prometheus_listen_addr", c.Instrumentation.PrometheusListenAddr})
	}
	for _, a := range at {
		address := strings.TrimPrefix(a[1], "tcp://")
		if address == "" || strings.Contains(address, "://") { // disabled, or not a TCP port
			continue
		}
		all = append(all, [2]string{a[0], address})
	}
	return all
}
