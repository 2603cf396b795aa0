package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
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

	recent []app.Record // the last rounds that were read, oldest first
}

// look asks the node for a new Glance. If chain, height and application hash are those of before,
// which may be nil, it takes the values that follow from the height from there.
func look(ctx context.Context, c *client.Client, before *Glance) (*Glance, error) {
	ctx, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	g := &Glance{At: time.Now()}
	comet, err := c.RPC().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	g.Moniker, g.CatchingUp = comet.NodeInfo.Moniker, comet.SyncInfo.CatchingUp
	if at := comet.SyncInfo.LatestBlockTime; at.Unix() > 0 {
		g.BlockAge = g.At.Sub(at).Seconds()
	}
	if net, err := c.RPC().NetInfo(ctx); err == nil {
		g.Peers = net.NPeers
	}
	if g.Status, err = c.Status(ctx); err != nil {
		return nil, err
	}
	if before != nil && before.Status.ChainID == g.Status.ChainID && before.Status.Height == g.Status.Height &&
		before.Status.AppHash == g.Status.AppHash {
		g.Standings, g.Spend, g.Last, g.Offences = before.Standings, before.Spend, before.Last, before.Offences
	} else if err := g.read(ctx, c); err != nil {
		return nil, err
	}
	if g.Votes, err = g.votes(ctx, c); err != nil {
		return nil, err
	}
	r := g.Last
	if r == nil {
		return g, nil
	}
	var refusal *client.Refusal
	// a node of an earlier release lacks this path
	if g.Refused, err = c.RefusalsOf(ctx, r.Epoch, r.Round); err != nil && !errors.As(err, &refusal) {
		return nil, err
	}
	if t, err := c.TimingOf(ctx, r.Epoch, r.Round); err == nil {
		g.Timing = &t
	}
	if before != nil && before.Last != nil && before.Last.Height == r.Height {
		g.RoundTook = before.RoundTook
	} else {
		g.RoundTook = roundTook(ctx, c, r)
	}
	g.remember(ctx, c, before)
	g.Trouble = g.troubles()
	return g, nil
}

// votes returns who votes for the block that the chain waits for. It returns nil if blocks come, or if the node does
// not say who votes.
func (g *Glance) votes(ctx context.Context, c *client.Client) (*client.Votes, error) {
	if g.Status.Done || g.CatchingUp || g.BlockAge <= client.Overdue.Seconds() {
		return nil, nil
	}
	participants, err := c.Participants(ctx)
	if err != nil {
		return nil, err
	}
	v, err := client.ReadVotes(ctx, c.RPC(), participants)
	if err != nil { // of a node whose RPC does not serve it
		return nil, ctx.Err()
	}
	return &v, nil
}

// read requests the values that follow from the height.
func (g *Glance) read(ctx context.Context, c *client.Client) (err error) {
	if g.Standings, err = c.Reputation(ctx); err != nil {
		return err
	}
	if g.Spend, err = c.Privacy(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(g.Standings, func(p query.Standing) bool { return p.Offences > 0 }) {
		if g.Offences, err = c.Evidence(ctx); err != nil {
			return err
		}
	}
	if g.Status.Round == 0 {
		return nil
	}
	r, err := c.RoundOf(ctx, g.Status.Epoch, g.Status.Round-1)
	var refusal *client.Refusal
	if errors.As(err, &refusal) { // a node after state sync does not hold the round
		return nil
	}
	g.Last = &r
	return err
}

// pacedRounds is the max number of rounds whose times count for how long a round takes.
const pacedRounds = 10

// roundTook returns the median seconds between the last rounds, or 0 if they are unknown.
func roundTook(ctx context.Context, c *client.Client, last *app.Record) float64 {
	times := []time.Time{} // of the blocks that closed the rounds, the newest first
	for i := range min(last.Round, pacedRounds) + 1 {
		r, err := c.RoundOf(ctx, last.Epoch, last.Round-i)
		if err != nil { // a node after state sync holds fewer
			break
		}
		height := int64(r.Height)
		answer, err := c.RPC().Header(ctx, &height)
		if err != nil {
			break
		}
		times = append(times, answer.Header.Time)
	}
	return median(times)
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
