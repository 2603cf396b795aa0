package network

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/query"
)

// noPeersPause is the interval at which a node checks whether it has a peer.
const noPeersPause = 10 * time.Second

// reportNoPeers logs that the node with id ownID has no peer, until ctx is done. The text says
// whether peers have closed the connection right after the handshake. The same text is logged again
// only after a time with a peer or after another text.
func (e *earlyCloses) reportNoPeers(ctx context.Context, ownID string, logger log.Logger) {
	tick := time.NewTicker(noPeersPause)
	defer tick.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text := ""
		switch hint := (query.Connections{ClosedBy: e.closedBy()}).Hint(ownID); {
		case e.connectedPeers() > 0:
		case hint != "":
			text = "no peers: " + hint
		default:
			text = "no peers yet: this node gets no block or state, and the chain stands without enough validators " +
				"(spdl doctor probes them)"
		}
		if text != last && text != "" {
			logger.Info(text)
		}
		last = text
	}
}
