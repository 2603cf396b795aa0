package node

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/explorer"
	"github.com/spdl/spdl/mnist"
)

// ExplorerOptions are the explorer's settings by app.toml. Test reads the test
// set, where models are to be measured.
func ExplorerOptions(a AppConfig, test func() (mnist.Set, error)) explorer.Options {
	o := explorer.Options{
		Rate: a.API.Rate, Burst: a.API.Burst, MaxConnections: a.API.MaxConnections, MaxStreams: a.API.MaxStreams, StreamsPerClient: a.API.StreamsPerClient,
	}
	for _, host := range strings.Split(a.API.Hosts, ",") {
		if host = strings.ToLower(strings.TrimSpace(host)); host != "" {
			o.Hosts = append(o.Hosts, host)
		}
	}
	if a.Explorer.Eval {
		o.Evaluate = explorer.On(test)
	}
	return o
}

// explore serves the explorer, where app.toml says so. It reads the node's RPC
// as anybody would; that it fails later does not concern the node.
func (r *Running) explore(ctx context.Context, c *config.Config, a AppConfig, logger log.Logger, data func(dir string) (mnist.Data, error)) error {
	if !a.Explorer.Enabled {
		return nil
	}
	if c.RPC.ListenAddress == "" {
		return fmt.Errorf("explorer: it reads the node's RPC, and rpc.laddr of config.toml is empty")
	}
	o := ExplorerOptions(a, func() (mnist.Set, error) {
		d, err := data(a.Worker.Data)
		return d.Test, err
	})
	o.Log = logger.Info
	s, err := explorer.Open(reachable(c.RPC.ListenAddress), o)
	if err != nil {
		return err
	}
	var l net.Listener
	if l, err = explorer.Listen(a.Explorer.Laddr); err != nil {
		return err
	}
	logger.Info("explorer", "address", "http://"+l.Addr().String())
	r.explorer = make(chan struct{})
	go func() {
		defer close(r.explorer)
		if err := s.Serve(ctx, l); err != nil {
			logger.Error("explorer stopped", "err", err)
		}
	}()
	return nil
}

// reachable is an address to listen on as one to ask: CometBFT takes no host for
// all hosts.
func reachable(laddr string) string {
	if port, all := strings.CutPrefix(laddr, "tcp://:"); all {
		return "tcp://127.0.0.1:" + port
	}
	return laddr
}
