package client

import (
	"context"
	"sync/atomic"

	rpchttp "github.com/cometbft/cometbft/rpc/client/http"
	"github.com/cometbft/cometbft/types"
)

// Subscription is a subscription to a node's blocks. Announcements are not verified, so an
// announcement is only a hint to query the node.
type Subscription struct {
	Blocks <-chan struct{} // receives a value after each block; if a value is still unread, no further one
	live   atomic.Bool
}

// Live reports whether the node has announced a block. The result stays true when the connection
// breaks, because the RPC client reconnects.
func (a *Subscription) Live() bool { return a.live.Load() }

// Subscribe subscribes to the node's blocks until ctx ends. It returns at once. If the node does
// not answer or accepts no subscriptions, nothing arrives on the channel Blocks.
func (c *Client) Subscribe(ctx context.Context) *Subscription {
	blocks := make(chan struct{}, 1)
	a := &Subscription{Blocks: blocks}
	go func() {
		rpc, err := rpchttp.New(c.address, "/websocket")
		if err != nil || rpc.Start() != nil {
			return
		}
		defer func() { _ = rpc.Stop() }()
		events, err := rpc.Subscribe(ctx, "", types.EventQueryNewBlockHeader.String(), 1)
		if err != nil {
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-events:
				a.live.Store(true)
				select {
				case blocks <- struct{}{}:
				default:
				}
			}
		}
	}()
	return a
}
