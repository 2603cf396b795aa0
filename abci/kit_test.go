package abci_test

import (
	"context"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

var ctx = context.Background()

// host is a node that counts what its application reports and asks.
type host struct {
	abci.NoHost
	view      query.Connections
	report    func(raw []byte)
	isDecided func(height int64) bool
}

func (h *host) Connections() query.Connections { return h.view }

func (h *host) Report(raw []byte) {
	if h.report != nil {
		h.report(raw)
	}
}

func (h *host) IsDecided(height int64) bool { return h.isDecided != nil && h.isDecided(height) }

// node is one application that a test drives without a network.
type node struct {
	*abci.Application
	host *host
	t    *testing.T
	db   dbm.DB
}

func open(t *testing.T, db dbm.DB) *node {
	t.Helper()
	// 30 ms and 10 ms
	h := new(host)
	a, err := abci.New(abci.Options{DB: db, ChainID: apptest.ChainID, ProposalWait: 30e6, StragglerWait: 10e6, Host: h})
	require.NoError(t, err)
	return &node{Application: a, host: h, t: t, db: db}
}

// begin opens a node on a new chain of n participants.
func begin(t *testing.T, n int, mutate ...func(*params.Params)) *node {
	t.Helper()
	v := open(t, dbm.NewMemDB())
	v.init(n, mutate...)
	return v
}

func (n *node) init(participants int, mutate ...func(*params.Params)) {
	n.t.Helper()
	data, err := apptest.Genesis(participants, apptest.Params(participants, mutate...)).Encode()
	require.NoError(n.t, err)
	_, err = n.InitChain(ctx, &abcitypes.RequestInitChain{ChainId: apptest.ChainID, InitialHeight: 1, AppStateBytes: data})
	require.NoError(n.t, err)
}

// check sends a transaction through CheckTx.
func (n *node) check(t *tx.Tx) *abcitypes.ResponseCheckTx {
	n.t.Helper()
	r, err := n.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: t.Raw})
	require.NoError(n.t, err)
	return r
}

func (n *node) process(height int64, raws [][]byte) bool {
	n.t.Helper()
	r, err := n.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Height: height, Txs: raws, Hash: []byte{1}})
	require.NoError(n.t, err)
	return r.Status == abcitypes.ResponseProcessProposal_ACCEPT
}

func (n *node) prepare(height int64) [][]byte {
	n.t.Helper()
	r, err := n.PrepareProposal(ctx, &abcitypes.RequestPrepareProposal{Height: height, MaxTxBytes: 1 << 22})
	require.NoError(n.t, err)
	return r.Txs
}

func (n *node) finalize(height int64, raws [][]byte) *abcitypes.ResponseFinalizeBlock {
	n.t.Helper()
	r, err := n.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: height, Txs: raws})
	require.NoError(n.t, err)
	return r
}

func (n *node) commit() {
	n.t.Helper()
	_, err := n.Commit(ctx, &abcitypes.RequestCommit{})
	require.NoError(n.t, err)
}

func raws(txs []*tx.Tx) [][]byte {
	out := make([][]byte, len(txs))
	for i, t := range txs {
		out[i] = t.Raw
	}
	return out
}
