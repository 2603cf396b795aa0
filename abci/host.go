package abci

import (
	"context"
	"errors"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Host is the node in which an application runs. While CometBFT replays blocks, before the node starts, the application
// calls only OnFinalized, OnEnd and OnHold. Methods without a result must not block, except OnHold: CometBFT waits.
type Host interface {
	query.Host
	// Admit returns an error if the node with the given id may not connect, and AdmitAddress if no connection from the
	// given address is accepted. CometBFT's peer filter asks them, AdmitAddress before the node's id is known.
	Admit(node string) error
	AdmitAddress(address string) error
	// IsDecided reports whether at least one honest validator has decided the block of the given height. PrepareProposal
	// does not wait at such a height: CometBFT processes the decided block only after PrepareProposal has returned, so a
	// node that waited would never catch up with a fast chain.
	IsDecided(height int64) bool
	// OnAdmitted hands to gossip every transaction that the mempool is about to take. That includes
	// transactions that are already in the pool and, with GossipRefused, transactions that the pool rejects.
	OnAdmitted(*tx.Tx)
	// SendAggregate sends a newly admitted aggregate to the peers before the mempool does.
	SendAggregate(raw []byte)
	// Report submits evidence of an equivocation that this node has seen.
	Report(raw []byte)
	// Broadcast submits a transaction of the worker in this process to the node's mempool.
	Broadcast(ctx context.Context, raw []byte) error
	// OnFinalized is called by every successful FinalizeBlock, in CometBFT's goroutine, with the
	// decided block and the outcome.
	OnFinalized(*abcitypes.RequestFinalizeBlock, *app.Outcome)
	// OnEnd is called by Commit after the last block that this state machine version can execute, with
	// the state after that block, before the worker sees it. CometBFT continues when it returns.
	OnEnd(*app.State)
	// OnHold is called by FinalizeBlock for a decided block that needs another state machine version. FinalizeBlock then
	// returns an error, on which CometBFT panics. If OnHold never returns, CometBFT stops without a panic.
	OnHold()
}

// NoHost is a Host without peers and without a mempool. It admits every node.
type NoHost struct{ query.NoHost }

var _ Host = NoHost{}

var errNoHost = errors.New("the application runs without a node")

// The methods of Host.
func (NoHost) Admit(string) error                                        { return nil }
func (NoHost) AdmitAddress(string) error                                 { return nil }
func (NoHost) IsDecided(int64) bool                                      { return false }
func (NoHost) OnAdmitted(*tx.Tx)                                         {}
func (NoHost) SendAggregate([]byte)                                      {}
func (NoHost) Report([]byte)                                             {}
func (NoHost) Broadcast(context.Context, []byte) error                   { return errNoHost }
func (NoHost) OnFinalized(*abcitypes.RequestFinalizeBlock, *app.Outcome) {}
func (NoHost) OnEnd(*app.State)                                          {}
func (NoHost) OnHold()                                                   {}
