package testnet

import (
	"context"
	"net"

	"github.com/spdl/spdl/cmd/internal/explorer"
	"github.com/spdl/spdl/testnet"
)

// pages is the explorer of a net's first node. It runs in this process, so it outlives the node.
// The zero value serves nothing.
type pages struct {
	server   *explorer.Server
	listener net.Listener
	ended    chan struct{}
}

// openPages listens at the explorer's default address, or at one of the next ports if that one is in use.
func (o *startOptions) openPages(n *testnet.Net, e testnet.Evaluator) (p pages, err error) {
	if !o.explorer {
		return p, nil
	}
	p.server, p.listener, err = explorer.OpenNear(n.Nodes[0].RPC, e)
	return p, err
}

// serve serves until ctx ends.
func (p *pages) serve(ctx context.Context) {
	if p.server == nil {
		return
	}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(ctx, p.listener) // a failure after the start does not concern the net
	}()
}

// url returns the pages' address, "" if there are none.
func (p *pages) url() string {
	if p.listener == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String()
}

// close closes the listener and waits until the server has ended.
func (p *pages) close() {
	if p.listener != nil {
		_ = p.listener.Close()
	}
	if p.ended != nil {
		<-p.ended
	}
}
