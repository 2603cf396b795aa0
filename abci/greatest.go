package abci

import (
	"sync"

	"github.com/spdl/spdl/app"
)

// greatest keeps the largest spend of the last state that was asked about: it is a search over all
// participants' ledgers, and every poll of a node's status states it.
type greatest struct {
	mu    sync.Mutex
	of    *app.State
	spend *float64
}

// in returns GreatestSpend of a state.
func (g *greatest) in(s *app.State) *float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of != s {
		g.of, g.spend = s, GreatestSpend(s)
	}
	return g.spend
}
