package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Glance is a look at a node, its net and the participants.
type Glance struct {
	At          time.Time         `json:"at"`
	Moniker     string            `json:"moniker"` // of the node
	Peers       int               `json:"peers"`
	CatchingUp  bool              `json:"catching_up"`
	BlockAge    float64           `json:"block_age_s"`
	Status      query.Status      `json:"status"`
	Last        *app.Record       `json:"last_round"` // null before the first is closed
	Timing      *query.Timing     `json:"timing"`     // of the last round, null if the node has none
	Standings   []query.Standing  `json:"participants"`
	Spend       []query.Spend     `json:"spend"`
	Refused     []query.Rejection `json:"refused"`               // gradients of the last round that the node rejected
	Offences    []app.Offence     `json:"offences"`              // proven, of the participants
	Trouble     []Trouble         `json:"trouble"`               // what stands against participants, the worst first
	Votes       *client.Votes     `json:"votes,omitempty"`       // while the chain waits for a block
	RoundTook   float64           `json:"round_s,omitempty"`     // the median of the last rounds
	Unreachable string            `json:"unreachable,omitempty"` // why the values are old
}

// recentRounds is the max number of rounds that are read at first to judge the participants, and pacedRounds that of
// the rounds whose times count for how long a round takes.
const recentRounds, pacedRounds = chainview.Recent, 10

// A node is the node that a command looks at, with the view of its chain.
type node struct {
	*client.Client
	chain *chainview.Chain
}

func lookedAt(c *client.Client) node {
	return node{c, chainview.New(c, c.RPC(), chainview.Options{First: recentRounds})}
}

// look asks the node for a Glance.
func (n node) look(all context.Context) (*Glance, error) {
	ctx, cancel := context.WithTimeout(all, command.QueryTimeout)
	defer cancel()
	g := &Glance{At: time.Now()}
	comet, err := n.RPC().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	g.Moniker, g.CatchingUp = comet.NodeInfo.Moniker, comet.SyncInfo.CatchingUp
	if at := comet.SyncInfo.LatestBlockTime; at.Unix() > 0 {
		g.BlockAge = g.At.Sub(at).Seconds()
	}
	if net, err := n.RPC().NetInfo(ctx); err == nil {
		g.Peers = net.NPeers
	}
	if err := n.chain.Look(all); err != nil { // the first reads many rounds, and has a longer timeout of its own
		return nil, err
	}
	r := n.chain.Reader(ctx)
	now := r.Course()
	g.Status, g.Offences = now.Status, r.Offences()
	g.Standings, g.Spend = chainview.Ask[[]query.Standing](r, "/reputation"), chainview.Ask[[]query.Spend](r, "/privacy")
	g.Trouble = g.troubles(r.Standings())
	if !g.Status.Done && !g.CatchingUp && g.BlockAge > client.Overdue.Seconds() {
		if votes, err := client.ReadVotes(ctx, n.RPC(), r.Participants()); err == nil { // else the RPC does not serve it
			g.Votes = &votes
		}
	}
	points := now.Running()
	if len(points) == 0 { // none is closed, or a node after state sync does not hold the last
		return g, r.Err()
	}
	at := points[len(points)-1].ID()
	g.Last, g.Refused = r.Record(at), r.Rejections(at.String())
	if t, err := chainview.Try[query.Timing](r, "/timing/"+at.String()); err == nil {
		g.Timing = &t
	}
	var times []time.Time // of the blocks that closed the rounds, the newest first
	for _, p := range slices.Backward(points[max(0, len(points)-pacedRounds-1):]) {
		if at := r.TimeAt(p.Height); !at.IsZero() {
			times = append(times, at)
		}
	}
	g.RoundTook = median(times)
	return g, r.Err()
}

// median returns the median seconds between times, the newest of which is the first. A net that was stopped
// leaves one long time, which does not count.
func median(times []time.Time) float64 {
	var took []float64
	for i := 1; i < len(times); i++ {
		took = append(took, times[i-1].Sub(times[i]).Seconds())
	}
	if slices.Sort(took); len(took) == 0 {
		return 0
	}
	return took[len(took)/2]
}
