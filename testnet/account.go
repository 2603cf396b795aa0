package testnet

import (
	"context"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// account counts the rounds for which each participant pays, as the ledger does: those that hold its gradient, and
// those in which it committed to one and was not included.
type account struct {
	params       params.Params // of the first epoch
	participants int           // of the genesis
	counts       map[uint32]uint64
	last         uint64 // rounds counted
}

// after returns the largest epsilon of any participant after a round, or nil if the chain gives no guarantee. A round
// of a later epoch costs something else, so for it after returns the largest epsilon of the node's current status.
func (a *account) after(ctx context.Context, c *client.Client, r app.Record) (*float64, error) {
	if r.Epoch > 0 {
		s, err := c.Status(ctx)
		return s.Epsilon, err
	}
	if len(a.params.Privacy.Cost) == 0 {
		return nil, nil
	}
	if a.counts == nil {
		a.counts = map[uint32]uint64{}
	}
	if r.Round == a.last { // ask runs again for the same record if a later request of it fails
		a.last++
		for _, c := range r.Contributions {
			a.counts[c.Participant]++
		}
		for _, p := range r.Withheld {
			a.counts[p]++
		}
	}
	var most uint64
	for _, n := range a.counts {
		most = max(most, n)
	}
	epsilon, err := preset.EpsilonAfter(a.params.Privacy, most)
	return &epsilon, err
}
