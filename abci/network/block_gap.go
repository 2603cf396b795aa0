package network

import (
	"context"
	"errors"
	"time"

	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/p2p"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"

	"github.com/spdl/spdl/abci/query"
)

const (
	reviewInterval = time.Second      // between two comparisons of a node's height with its peers' blocks
	gapInterval    = time.Minute      // between two requests for the range of the peers' blocks, or logs of a gap
	gapGrace       = 10 * time.Second // after the start, a gap is not logged: more peers may connect
)

// Connections returns this node's view of its peers.
func (n *Network) Connections() query.Connections {
	next, oldest := n.blockGap.Missing()
	return query.Connections{ClosedBy: n.earlyCloses.closedBy(), MissingBlock: next, OldestBlock: oldest,
		PeerHeight: n.peerHeight()}
}

// CheckGap returns an error if the node cannot catch up, because its peers have dropped the block that it needs next.
func (n *Network) CheckGap() error {
	if gap, _ := n.Connections().Gap(); gap != "" {
		return errors.New(gap)
	}
	return nil
}

// watchBlockGap looks for a gap between this node's blocks and those of its peers, and logs it, until ctx is done.
func (n *Network) watchBlockGap(ctx context.Context, sw p2p.Switcher) {
	logged, asked := time.Now().Add(gapGrace-gapInterval), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reviewInterval):
		}
		n.blockGap.Review()
		if gap, remedy := n.Connections().Gap(); gap != "" && time.Since(logged) >= gapInterval {
			n.log.Error(gap, "remedy", remedy)
			logged = time.Now()
		}
		if time.Since(asked) >= gapInterval {
			sw.Peers().ForEach(func(peer p2p.Peer) {
				peer.TrySend(p2p.Envelope{ChannelID: blocksync.BlocksyncChannel, Message: &cmtsync.StatusRequest{}})
			})
			asked = time.Now()
		}
	}
}
