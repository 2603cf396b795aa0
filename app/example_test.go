package app_test

import (
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// Four participants close the first round: the leader's aggregate comes first in the block, and the
// gradients that it lists follow.
func Example() {
	s := apptest.State(4)
	block := app.Block{Height: 1, Txs: apptest.Close(s, 1)}
	out, err := s.Execute(block)
	if err != nil {
		panic(err)
	}
	r := out.Record
	fmt.Printf("round %d of epoch %d closed with %d gradients by rule %s\n",
		r.Round, r.Epoch, len(r.Contributions), r.Rule)
	fmt.Println("the open round is now", out.State.Progress.Round)

	block.Txs = block.Txs[1:] // gradients without an aggregate
	_, err = s.Execute(block)
	fmt.Println(err)
	// Output:
	// round 0 of epoch 0 closed with 4 gradients by rule multi-krum
	// the open round is now 1
	// operation 0: B1: transactions of the block are not in order: a gradient is no operation
}
