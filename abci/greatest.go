package abci

import (
	"sync"

	"github.com/spdl/spdl/app"
)

// greatest caches the largest spend of the last queried state: computing it searches all
// participants' ledgers, and every poll of a node's status asks for it.
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
