package abci_test

import (
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
)

// One node proposes a round's block, and judges it as every other node does.
func Example() {
	a, err := abci.New(abci.Options{})
	if err != nil {
		panic(err)
	}
	genesis, err := apptest.Genesis(4, apptest.Params(4)).Encode()
	if err != nil {
		panic(err)
	}
	if _, err := a.InitChain(ctx, &abcitypes.RequestInitChain{ChainId: apptest.ChainID, InitialHeight: 1,
		AppStateBytes: genesis}); err != nil {
		panic(err)
	}
	for _, t := range apptest.Close(apptest.State(4), 1) {
		if r, err := a.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: t.Raw}); err != nil || r.Code != abci.CodeOK {
			panic(fmt.Sprint(r, err))
		}
	}
	block, err := a.PrepareProposal(ctx, &abcitypes.RequestPrepareProposal{Height: 1, MaxTxBytes: 1 << 20})
	if err != nil {
		panic(err)
	}
	for _, txs := range [][][]byte{block.Txs, block.Txs[1:]} { // without the aggregate it is not valid
		r, err := a.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Height: 1, Txs: txs})
		fmt.Println(len(txs), "transactions:", r.Status, err)
	}
	// Output:
	// 5 transactions: ACCEPT <nil>
	// 4 transactions: REJECT <nil>
}
