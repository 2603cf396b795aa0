package sim

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"maps"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// Node is one application with its participant.
type Node struct {
	Index  int
	App    *abci.Application
	Faults Faults

	net       *Net
	db        dbm.DB
	keys      worker.Keys
	consensus []byte
	validator ed25519.PrivateKey // of consensus
	moniker   string
	hashes    [][]byte // application hash by height
	events    []abcitypes.Event
	updates   []abcitypes.ValidatorUpdate
	signed    map[tx.Place]bool
	made      []*tx.Tx // the gradient of a round, two if the node equivocates
	reports   [][]byte
}

func newNode(n *Net, i int) *Node {
	validator := n.config.validator(i)
	return &Node{
		Index: i, net: n, moniker: fmt.Sprintf("node%d", i), signed: map[tx.Place]bool{}, db: dbm.NewMemDB(),
		keys:      n.config.keys(i, 0),
		validator: validator, consensus: validator.Public().(ed25519.PublicKey),
	}
}

// Identity returns the public side of the node's participant.
func (node *Node) Identity() app.Identity { return node.net.config.identity(node.Index, node.keys) }

// open opens the application as a program of a version of the state machine. Version 0 is this
// program's version.
func (node *Node) open(version uint64) (err error) {
	node.App, err = abci.New(abci.Options{
		DB: node.db, Logger: log.NewNopLogger(), Now: node.net.now, StateMachine: version,
		ProposalWait: 1, StragglerWait: 1, // nanoseconds: a gradient that is missing now cannot arrive during the call
		Host: host{node: node},
	})
	return err
}

// host keeps the evidence that its node reports.
type host struct {
	abci.NoHost
	node *Node
}

// Report implements abci.Host.
func (h host) Report(raw []byte) { h.node.reports = append(h.node.reports, raw) }

// Replace restarts the node with a program of another version of the state machine. It returns the
// error with which `spdl start` would fail.
func (node *Node) Replace(version uint64) error {
	if err := node.App.State().As(version).Executable(); err != nil {
		return err
	}
	// The node sends its gradients again, as a real node does from its journal.
	maps.DeleteFunc(node.signed, func(at tx.Place, _ bool) bool { return at.Kind != tx.KindAggregate })
	return node.open(version)
}

// start opens the application on the net's genesis.
func (node *Node) start() error {
	if err := node.open(0); err != nil {
		return err
	}
	_, err := node.App.InitChain(context.Background(), &abcitypes.RequestInitChain{ChainId: ChainID, InitialHeight: 1,
		AppStateBytes: node.net.genesis})
	return err
}

// live reports whether the node runs: it is neither down nor stopped before a height of another
// version of the state machine.
func (node *Node) live() bool { return !node.Faults.Down && !node.Stopped() }

// Stopped reports whether the next height needs another version of the state machine than the node
// has.
func (node *Node) Stopped() bool { return node.App.State().Executable() != nil }

// catchUp executes the decided blocks that the node lacks.
func (node *Node) catchUp() error {
	for len(node.hashes) < len(node.net.Blocks) && !node.Faults.Partitioned && !node.Stopped() {
		b := node.net.Blocks[len(node.hashes)]
		r, err := node.App.FinalizeBlock(context.Background(), &abcitypes.RequestFinalizeBlock{Height: b.Height, Txs: b.Txs})
		if err != nil {
			return fmt.Errorf("node %d: finalize height %d: %w", node.Index, b.Height, err)
		}
		if _, err := node.App.Commit(context.Background(), &abcitypes.RequestCommit{}); err != nil {
			return fmt.Errorf("node %d: commit height %d: %w", node.Index, b.Height, err)
		}
		if len(r.TxResults) != len(b.Txs) {
			return fmt.Errorf("node %d: height %d has %d transactions and %d results", node.Index, b.Height, len(b.Txs),
				len(r.TxResults))
		}
		node.hashes = append(node.hashes, r.AppHash)
		node.events, node.updates = r.Events, r.ValidatorUpdates
	}
	return nil
}

// act performs the participant's pending actions once, and reports whether there were any.
func (node *Node) act() (bool, error) {
	acted := len(node.reports) > 0
	for _, raw := range node.reports {
		_ = node.net.broadcast(node, raw) // rejected if another node's draft came first
	}
	node.reports = nil
	s := node.App.State()
	p, ok := s.Find(node.keys.Public())
	if !ok || s.Finished() {
		return acted, nil
	}
	if !node.Faults.Silent {
		sent, err := node.contribute(s, p)
		if acted = acted || sent; err != nil {
			return acted, err
		}
	}
	if node.Faults.Silent || node.Faults.MuteLeader {
		return acted, nil
	}
	draft, err := node.App.Draft(p.Index)
	if err != nil {
		return acted, nil // it is not this node's turn
	}
	at := tx.Place{Kind: tx.KindAggregate, Epoch: draft.Epoch, Round: draft.Round, Participant: p.Index, View: draft.View}
	if node.signed[at] {
		return acted, nil
	}
	node.signed[at] = true
	return true, node.lead(draft)
}

// send signs and broadcasts a transaction, and ignores a rejection by the node itself.
func (node *Node) send(body tx.Body) (*tx.Tx, error) {
	t, err := tx.Sign(ChainID, body, node.keys.Signing)
	if err == nil {
		_ = node.net.broadcast(node, t.Raw)
	}
	return t, err
}

// contribute sends the participant's commitment or gradient, if the open round takes it and it has
// not been sent. It reports whether there was anything to send.
func (node *Node) contribute(s *app.State, p app.Participant) (bool, error) {
	at := tx.Place{Kind: tx.KindGradient, Epoch: s.Progress.Epoch, Round: s.Progress.Round, Participant: p.Index}
	if s.Params.Election.CommitReveal && s.Commitment(p.Index) == nil {
		at.Kind = tx.KindCommit
	}
	if node.signed[at] || node.waits(s, at.Kind) {
		return false, nil
	}
	node.signed[at] = true
	if err := node.make(s, p); err != nil || len(node.made) == 0 {
		return true, err
	}
	for i, t := range node.made {
		var err error
		switch {
		case at.Kind == tx.KindGradient:
			_ = node.net.broadcast(node, t.Raw)
		case i == 0 || node.Faults.TwoCommits:
			_, err = node.send(&tx.Commit{Epoch: at.Epoch, Round: at.Round, Participant: at.Participant, Hash: t.Content[:],
				VrfProof: proof(node.keys, s)})
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// waits reports whether the node does not send a transaction of a kind now, because of its faults
// or because the round's commitments are not complete.
func (node *Node) waits(s *app.State, kind tx.Kind) bool {
	if kind == tx.KindGradient {
		return node.Faults.Withhold || s.Committing()
	}
	return node.Faults.LateCommit && s.Committing()
}

// make makes the participant's gradient for the open round, and a second one if it equivocates.
func (node *Node) make(s *app.State, p app.Participant) error {
	if len(node.made) > 0 {
		if g := node.made[0].Gradient; g.Epoch == s.Progress.Epoch && g.Round == s.Progress.Round &&
			g.Participant == p.Index {
			return nil
		}
	}
	node.made = nil
	vector := node.net.slope
	if node.net.config.Vector != nil {
		vector = node.net.config.Vector
	}
	v := vector(node.Index, s)
	if v.Len() == 0 {
		return nil
	}
	if node.Faults.Opposed {
		for i := range v.Len() {
			v.Set(i, -v.At(i))
		}
	}
	return node.sign(s, p, v)
}

// sign signs a gradient of the vector, and if the node equivocates a second gradient of another
// vector.
func (node *Node) sign(s *app.State, p app.Participant, v gradients.Vector) error {
	task, err := node.App.Local().Await(context.Background(), p.PubKey, nil)
	if err != nil {
		return err
	}
	for twice := node.Faults.TwoGradients || node.Faults.TwoCommits; ; twice = false {
		g := &tx.Gradient{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Participant: p.Index, Payload: v.Encode(),
			Late: task.Observed.Late, Failed: task.Observed.Failed}
		if !s.Params.Election.CommitReveal {
			g.VrfProof = proof(node.keys, s)
		}
		t, err := tx.Sign(ChainID, g, node.keys.Signing)
		if err != nil {
			return err
		}
		if node.made = append(node.made, t); !twice {
			return nil
		}
		v.Set(0, -v.At(0)/2-1)
	}
}

// lead sends the participant's aggregate.
func (node *Node) lead(draft *tx.Aggregate) error {
	if node.Faults.WrongAggregate || node.Faults.TwoAggregates {
		wrong := *draft
		wrong.Digest = seed32(draft.Round, "wrong")
		if _, err := node.send(&wrong); err != nil || !node.Faults.TwoAggregates {
			return err
		}
	}
	_, err := node.send(draft)
	return err
}

// propose returns the block of PrepareProposal. A Byzantine proposer changes the block first.
func (node *Node) propose(height int64) ([][]byte, error) {
	r, err := node.App.PrepareProposal(context.Background(), &abcitypes.RequestPrepareProposal{Height: height,
		MaxTxBytes: 1 << 24})
	if err != nil {
		return nil, fmt.Errorf("node %d: prepare proposal at height %d: %w", node.Index, height, err)
	}
	switch {
	case node.Faults.EmptyBlocks:
		return nil, nil
	case node.Faults.BadBlocks:
		return node.spoil(height, r.Txs), nil
	}
	return r.Txs, nil
}
