package abci

import "github.com/spdl/spdl/app/tx"

// foresee runs the rule in the background, at most once per committed state, when the last required
// gradient arrives: while the leader makes and sends the aggregate, every node precomputes Delta.
// Drafting, proposing and verifying then wait for that Delta or reuse it. It decides nothing.
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
			if r := recover(); r != nil { // the block is still judged, and rejected
				a.log.Error("the rule over the pool", "err", r)
			}
		}()
		if err := v.state.Foresee(v.pending); err != nil {
			a.log.Error("the rule over the pool", "err", err)
		}
	})
}
