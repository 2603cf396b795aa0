package query

import (
	"fmt"
	"strings"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
)

// Connections is the answer to /connections, the node's own view of its peers. A node answers
// /connections even before its chain has begun.
type Connections struct {
	// ClosedBy has the ids of the nodes that closed their last connection with this node during or
	// right after the handshake, and are not connected now.
	ClosedBy []string `json:"closed_by"`
	// MissingBlock is the height of the next block of a node that cannot catch up, because its peers
	// have dropped that block, and OldestBlock the lowest height that they have. Otherwise both are 0.
	MissingBlock int64 `json:"missing_block,omitempty"`
	OldestBlock  int64 `json:"oldest_block,omitempty"`
	// PeerHeight is the height of the last block that nodes of more than f members have by their consensus, 0 if it is
	// not known. Before the node has a state it is the greatest that a peer says.
	PeerHeight int64 `json:"peer_height,omitempty"`
}

func (q *Queries) queryConnections(*app.State, string) (any, error) {
	c := q.Host.Connections()
	c.ClosedBy = nonNil(c.ClosedBy)
	return c, nil
}

// Restore is the progress of a state sync, zero before a snapshot is accepted.
type Restore struct {
	Offered, Taken   time.Time // of the last accepted offer, and of the last correct chunk
	Height           uint64    // the snapshot's
	Received, Chunks int       // 0 once the snapshot could not be restored
}

// answerEarly fills in the response to a request before the node has a state. Only /connections has
// an answer then; other paths fail with ErrNotReady and what the node waits for.
func (q *Queries) answerEarly(req *abcitypes.RequestQuery, r *abcitypes.ResponseQuery) (err error) {
	if strings.Trim(req.Path, "/") == "connections" {
		r.Value, err = encode(q.queryConnections(nil, ""))
		return err
	}
	c, sync := q.Host.Connections(), q.Restored()
	peers := fmt.Sprintf("its peers are at height %d", c.PeerHeight)
	switch {
	case sync.Chunks > 0:
		return fmt.Errorf("%w: it syncs the state of height %d, and has %d of %d chunks of the snapshot; %s", ErrNotReady,
			sync.Height, sync.Received, sync.Chunks, peers)
	case c.PeerHeight > 0:
		return fmt.Errorf("%w: it syncs its state, and waits for a snapshot; %s", ErrNotReady, peers)
	case len(c.ClosedBy) > 0:
		return fmt.Errorf("%w, and no peer: %d node(s) closed its connections (the reason: spdl doctor, check \"peers\")",
			ErrNotReady, len(c.ClosedBy))
	}
	return fmt.Errorf("%w: no peer with a block is connected, or the chain has not begun", ErrNotReady)
}

// Gap describes the block that the node misses, and says what its operator can do. It returns "" if
// the node can catch up.
func (c Connections) Gap() (missing, remedy string) {
	if c.MissingBlock == 0 {
		return "", ""
	}
	return fmt.Sprintf("no peer has block %d, which this node needs next: the oldest that they keep is %d, so it cannot "+
		"catch up, and neither votes nor trains", c.MissingBlock, c.OldestBlock), gapRemedy
}

const gapRemedy = "stop the node, spdl reset-state --yes, then CMT_STATESYNC_ENABLE=true " +
	"CMT_STATESYNC_RPC_SERVERS=A,B CMT_STATESYNC_TRUST_HEIGHT=H CMT_STATESYNC_TRUST_HASH=X spdl start " +
	"(docs/OPERATING.md, State sync); or p2p.persistent_peers with a node that keeps all blocks"

// Hint tells the operator of a node what its gap or the closed connections mean, and what to do. It
// returns "" if there are none. The hint names ownID, the node's id.
func (c Connections) Hint(ownID string) string {
	if gap, remedy := c.Gap(); gap != "" {
		return gap + ": " + remedy
	}
	if len(c.ClosedBy) == 0 {
		return ""
	}
	return fmt.Sprintf("%d node(s) closed the connection right after the handshake: either they do not admit this one: "+
		"their operators add it to p2p.allowed_peers of app.toml (lets_it_in in their log is the command), or a member "+
		"registers it (spdl tx join, spdl tx rotate --nodes %s; docs/CONFIGURATION.md, Who is let in); or another node "+
		"with the id %[2]s, of a copy of this home, is connected to them: stop it; closed by %[3]s",
		len(c.ClosedBy), ownID, strings.Join(c.ClosedBy, ", "))
}

// PeerClock is an element of the answer to /clocks.
type PeerClock struct {
	NodeID  string  `json:"node_id"`
	AheadMs float64 `json:"ahead_ms"` // the peer's clock minus this node's clock, too low by the message's transit time
}
