package abci

import "github.com/spdl/spdl/app/tx"

// foresee runs the rule in the background, once a round, when a gradient was the last that the
// round waited for: while its leader makes the aggregate and it travels, every node makes Delta.
// Who drafts, proposes or judges it then waits for that, or finds it. It decides nothing.
func (a *Application) foresee(p *pool, t *tx.Tx) {
	if t.Gradient == nil {
		return
	}
	v := p.look()
	if v.state.Committing() || !v.whole() || a.foreseen.Swap(v.state) == v.state {
		return
	}
	a.ahead.Go(func() {
		defer func() {
			if r := recover(); r != nil { // the block is judged all the same, and refused
				a.log.Error("the rule over the pool", "err", r)
			}
		}()
		if err := v.state.Foresee(v.pending); err != nil {
			a.log.Error("the rule over the pool", "err", err)
		}
	})
}
