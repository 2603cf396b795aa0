package explorer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Listen listens on an address, as tcp://host:port.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		return nil, fmt.Errorf("explorer address %q: %w; --laddr, or explorer.laddr in app.toml, names another", address, err)
	}
	return l, nil
}

// nextPorts is the number of ports that ListenNear tries if the first is in use.
const nextPorts = 20

// ListenNear listens on an address, or on one of the next ports if its port is in use.
func ListenNear(address string) (net.Listener, error) {
	l, err := Listen(address)
	host, text, split := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	port, number := strconv.Atoi(text)
	if !errors.Is(err, syscall.EADDRINUSE) || split != nil || number != nil {
		return l, err
	}
	for k := 1; k <= nextPorts; k++ {
		near, err := Listen(net.JoinHostPort(host, strconv.Itoa(port+k)))
		if err == nil {
			return near, nil
		}
	}
	return nil, err
}

// OpenNear opens an explorer of the node at rpc with the default options, and with an evaluator
// unless it is nil. The explorer listens at the default address, or at one of the next ports if the
// port is in use.
func OpenNear(rpc string, e chainview.Evaluator) (*Server, net.Listener, error) {
	a := home.DefaultAppConfig()
	a.Explorer.Eval = e != nil
	s, err := Open(rpc, OptionsOf(a, e))
	if err != nil {
		return nil, nil, err
	}
	l, err := ListenNear(a.Explorer.Laddr)
	return s, l, err
}

// Beside serves the explorer in the node's process if app.toml enables it. It is a
// node.Hooks.StartServices. The explorer reads the node's RPC like any client, and if it fails
// after its start the node continues.
func Beside(ctx context.Context, n node.ServiceContext) (ended <-chan struct{}, err error) {
	if !n.App.Explorer.Enabled {
		return nil, nil
	}
	if n.RPC == "" {
		return nil, fmt.Errorf("explorer: it reads the node's RPC, and rpc.laddr of config.toml is empty")
	}
	logger := n.Logger.With("module", "explorer")
	o := OptionsOf(n.App, n.Evaluator)
	o.Log = logger.Info
	s, err := Open(reachable(n.RPC), o)
	if err != nil {
		return nil, err
	}
	l, err := Listen(n.App.Explorer.Laddr)
	if err != nil {
		return nil, err
	}
	logger.Info("explorer", "address", "http://"+l.Addr().String())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer n.Evaluator.Close()
		if err := s.Serve(ctx, l); err != nil {
			logger.Error("explorer stopped", "err", err)
		}
	}()
	return done, nil
}

// reachable turns an address to listen on into an address to connect to. CometBFT takes an empty
// host for all hosts, so reachable replaces it.
func reachable(laddr string) string {
	if port, all := strings.CutPrefix(laddr, "tcp://:"); all {
		return "tcp://127.0.0.1:" + port
	}
	return laddr
}
