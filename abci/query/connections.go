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
}

func (q *Queries) queryConnections(*app.State, string) (any, error) {
	if q.ClosedBy == nil {
		return Connections{ClosedBy: []string{}}, nil
	}
	return Connections{ClosedBy: nonNil(q.ClosedBy())}, nil
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

// Hint tells the operator of a node what the closed connections mean, and what to do. It returns ""
// if no connection was closed. The hint names ownID, the node's id.
func (c Connections) Hint(ownID string) string {
	if len(c.ClosedBy) == 0 {
		return ""
	}
	return fmt.Sprintf("%d node(s) closed the connection right after the handshake, and may not admit this node yet: "+
		"their operators add %s to p2p.allowed_peers of app.toml, or a member registers it (spdl tx join, spdl tx "+
		"rotate --nodes); closed by %s", len(c.ClosedBy), ownID, strings.Join(c.ClosedBy, ", "))
}
