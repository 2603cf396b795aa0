package explorer

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
)

// OpenNear opens an explorer of the node at rpc with the default options, and with an evaluator
// unless it is nil. The explorer listens at the default address, or at one of the next ports if the
// port is in use.
func OpenNear(rpc string, e Evaluator) (*Server, net.Listener, error) {
	a := home.DefaultAppConfig()
	a.Explorer.Eval = e != nil
	s, err := Open(rpc, OptionsOf(a, e))
	if err != nil {
		return nil, nil, err
	}
	l, err := ListenNear(a.Explorer.Laddr)
	return s, l, err
}

// OptionsOf returns the explorer's options in app.toml. It uses the evaluator only if explorer.eval
// is set.
func OptionsOf(a home.AppConfig, e Evaluator) Options {
	o := Options{
		Hosts: a.API.HostNames(), Rate: a.API.Rate, Burst: a.API.Burst,
		MaxConnections: a.API.MaxConnections, MaxStreams: a.API.MaxStreams, StreamsPerClient: a.API.StreamsPerClient,
	}
	if a.Explorer.Eval {
		o.Evaluator = e
	}
	return o
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
