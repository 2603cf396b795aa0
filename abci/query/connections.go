package query

import (
	"fmt"
	"strings"

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
}

func (q *Queries) queryConnections(*app.State, string) (any, error) {
	c := q.Host.Connections()
	c.ClosedBy = nonNil(c.ClosedBy)
	return c, nil
}

// answerEarly fills in the response to a request before the node has a state. Only /connections has
// an answer then; other paths fail with ErrNotReady.
func (q *Queries) answerEarly(req *abcitypes.RequestQuery, r *abcitypes.ResponseQuery) (err error) {
	if strings.Trim(req.Path, "/") != "connections" {
		return ErrNotReady
	}
	r.Value, err = encode(q.queryConnections(nil, ""))
	return err
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
	return fmt.Sprintf("%d node(s) closed the connection right after the handshake, and may not admit this node yet: "+
		"their operators add %s to p2p.allowed_peers of app.toml, or a member registers it (spdl tx join, spdl tx "+
		"rotate --nodes); closed by %s", len(c.ClosedBy), ownID, strings.Join(c.ClosedBy, ", "))
}
