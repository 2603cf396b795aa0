package query

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/privacy/accountant"
)

// weighed is a contribution with its weight, which the record leaves out.
type weighed struct {
	app.Contribution
	Weight *float64 `json:"weight"` // share of an equal part of Delta, from 0 to 1; null if the rule gives none
}

// pricedRound is the record of a closed round with its cost, which the record leaves out.
type pricedRound struct {
	app.Record
	Contributions []weighed `json:"contributions"` // those of the record
	// the largest spend after the round; null if unknown or without a guarantee
	Epsilon *float64 `json:"epsilon"`

	budget float64 // of the running epoch; 0 without a budget, or if the round is in another epoch
}

// weigh adds the weights to a record.
func weigh(r app.Record) pricedRound {
	p := pricedRound{Record: r, Contributions: []weighed{}}
	for _, c := range r.Contributions {
		p.Contributions = append(p.Contributions, weighed{c, query.WeightOf(&r, c)})
	}
	return p
}

// priced adds the weights to a record, and the spend from the event of the round's block.
func priced(ctx context.Context, c *client.Client, r app.Record) (p pricedRound, err error) {
	p = weigh(r)
	if p.Epsilon, err = c.EpsilonAt(ctx, r.Height); err != nil || p.Epsilon == nil {
		return p, err
	}
	status, err := c.Status(ctx)
	if err != nil || status.Epoch != r.Epoch {
		return p, err
	}
	running, err := c.Params(ctx)
	p.budget = running.Privacy.Epsilon
	return p, err
}

// cost describes what the round and the earlier rounds have cost.
func (p pricedRound) cost() string {
	switch {
	case p.Epsilon == nil:
		return "unknown: no DP guarantee, or the node has dropped the block's events"
	case p.budget > 0:
		return fmt.Sprintf("%s of %g", accountant.Text(*p.Epsilon), p.budget)
	}
	return accountant.Text(*p.Epsilon)
}
