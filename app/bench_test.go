package app_test

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// BenchmarkExecute executes a round of n participants with the default model's dimension: from the
// pool, where signatures and VRF proofs were already verified, and from bytes that the node first
// sees in the block.
func BenchmarkExecute(b *testing.B) {
	for _, n := range []int{4, 10, 30} {
		s := apptest.State(n, func(p *params.Params) { p.Model.Inputs, p.Model.Classes = 196, 10 })
		txs := apptest.Close(s, 1)
		for _, known := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=%d/known=%t", n, known), func(b *testing.B) {
				for b.Loop() {
					block := txs
					if !known {
						block = make([]*tx.Tx, len(txs))
						for i, t := range txs {
							block[i], _ = tx.Decode(t.Raw)
						}
					}
					if _, err := s.Execute(app.Block{Height: 1, Txs: block}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
