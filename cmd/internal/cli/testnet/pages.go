package testnet

import (
	"context"
	"sync"

	"github.com/spdl/spdl/cmd/internal/explorer"
	"github.com/spdl/spdl/testnet"
)

// servePages serves the explorer of a net's first node at its default address, or at one of the next ports if that one
// is in use. It runs in this process, so it outlives the node, until ctx ends or end is called. Without --explorer url
// is "".
func (o *startOptions) servePages(ctx context.Context, n *testnet.Net, e testnet.Evaluator) (url string, end func(),
	err error) {
	if !o.explorer {
		return "", func() {}, nil
	}
	server, listener, err := explorer.OpenNear(n.Nodes[0].RPC, e)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ctx, listener) }) // a failure after the start does not concern the net
	return "http://" + listener.Addr().String(), func() { cancel(); serving.Wait() }, nil
}
