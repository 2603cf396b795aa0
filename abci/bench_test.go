package abci

import (
	"fmt"
	"testing"
	"time"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// BenchmarkAdvance measures the cost of a block that closes no round for a pool with all gradients
// of the open and the next round: an empty block, and a block with a Join.
func BenchmarkAdvance(b *testing.B) {
	for _, n := range []int{20, 100} {
		s := apptest.State(n, func(p *params.Params) { p.Model.Inputs = 50_000 })
		after := func(s *app.State, txs ...*tx.Tx) *app.State {
			out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
			if err != nil {
				b.Fatal(err)
			}
			return out.State
		}
		var open, next []*tx.Tx
		for i := range n {
			open = append(open, apptest.Gradient(s, i))
			g := *open[i].Gradient
			g.Round++
			next = append(next, apptest.Sign(i, &g))
		}
		for name, to := range map[string]*app.State{"empty": after(s), "join": after(s, apptest.Join(n))} {
			b.Run(fmt.Sprintf("n=%d/d=%d/%s", n, len(s.Model), name), func(b *testing.B) {
				p := pool.New(s, 0, pool.Patience{}, time.Now)
				for _, t := range append(open[:n:n], next...) {
					if _, err := p.Add(t); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				for i := range b.N {
					p.Advance([]*app.State{to, s}[i%2], nil)
				}
				if k, _ := p.Size(); k != 2*n {
					b.Fatal(k)
				}
			})
		}
	}
}
