package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
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
	Model       *measured         `json:"model,omitempty"`       // the last model, on the test rows of the home
	Unreachable string            `json:"unreachable,omitempty"` // why the values are old
}

// measured is the result of a model on the test rows of a home.
type measured struct {
	Round    uint64  `json:"round"`
	Accuracy float64 `json:"accuracy"`
	Tested   int     `json:"test_examples"`
	*evaluate.Measures
}

// lines says what a model achieves, never by its accuracy alone where more is known.
func (m *measured) lines() []string {
	if m == nil {
		return nil
	}
	line := fmt.Sprintf("model after round %d: accuracy %.4f on %d test rows of this home", m.Round, m.Accuracy, m.Tested)
	if m.Measures == nil {
		return []string{line}
	}
	lines := []string{line + "; " + m.String()}
	for _, w := range m.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}

// recentRounds is the max number of rounds that are read at first to judge the participants, and pacedRounds that of
// the rounds whose times count for how long a round takes.
const recentRounds, pacedRounds = chainview.Recent, 10

// A node is the node that a command looks at, with the view of its chain.
type node struct {
	*client.Client
	chain    *chainview.Chain
	measures bool
}

// lookedAt returns the node. The test rows of the home, if it has any for the chain's model, measure its models.
func lookedAt(r *command.Run, c *client.Client) node {
	o := chainview.Options{First: recentRounds}
	if conf, a, err := r.LoadHome(); err == nil {
		o.Evaluator = home.EvaluatorOf(conf, home.WorkerConfig{Data: a.Worker.Data}) // starts no trainer
	}
	return node{c, chainview.New(c, c.RPC(), o), o.Evaluator != nil}
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
	var last *time.Time
	if at := &comet.SyncInfo.LatestBlockTime; comet.SyncInfo.LatestBlockHeight > 0 {
		last, g.BlockAge = at, g.At.Sub(*at).Seconds()
	}
	if net, err := n.RPC().NetInfo(ctx); err == nil {
		g.Peers = net.NPeers
	}
	if err := n.chain.Look(all); err != nil { // the first reads many rounds, and has a longer timeout of its own
		return nil, err
	}
	if at, ok := n.chain.Unmeasured(); ok && n.measures {
		_ = n.chain.Measure(all, at) // what cannot be measured is not shown
	}
	r := n.chain.Reader(ctx)
	now := r.Course()
	if e, at := n.chain.Measured(); e != nil {
		g.Model = &measured{at.Round, e.Accuracy, e.Examples, evaluate.Judge(*e, now.Params.Model)}
	}
	g.Status, g.Offences = now.Status, r.Offences()
	g.Standings, g.Spend = chainview.Ask[[]query.Standing](r, "/reputation"), chainview.Ask[[]query.Spend](r, "/privacy")
	g.Trouble = g.troubles(r.Standings())
	g.Votes = votes(ctx, n.Client, last, g.CatchingUp || steps(g.Status))
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
