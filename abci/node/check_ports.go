package node

import (
	"fmt"
	"net"
	"strings"

	"github.com/cometbft/cometbft/config"
)

// checkPorts returns an error, with the configuration key, if an address in config.toml is in use.
// CometBFT itself does not name the key, and if the Prometheus port is in use, CometBFT only logs
// that and runs without metrics.
func checkPorts(c *config.Config) error {
	at := [][2]string{{"p2p.laddr", c.P2P.ListenAddress}, {"rpc.laddr", c.RPC.ListenAddress}}
	if c.Instrumentation.IsPrometheusEnabled() {
		at = append(at, [2]string{"instrumentation.prometheus_listen_addr", c.Instrumentation.PrometheusListenAddr})
	}
	for _, a := range at {
		address := strings.TrimPrefix(a[1], "tcp://")
		if address == "" || strings.Contains(address, "://") { // disabled, or not a TCP port
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("config.toml: %s: %w (give this node an address of its own, or stop what listens there)", a[0],
				err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}
