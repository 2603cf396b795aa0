package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Single is the chain of a Net whose nodes are all honest, with the same genesis, keys and signed
// transactions. In place of one application per node it has one State: Lead drafts a block,
// Assemble builds it, and Execute judges it once, whereas in a Net every node judges it. The models
// are the same, bit for bit, and take an Nth of the time. It is not safe for concurrent use.
type Single struct {
	net   *Net
	state *app.State
}

// NewSingle starts the chain of a Config. It ignores Delay.
func NewSingle(c Config) (*Single, error) {
	n, g := prepare(c)
	s, err := app.NewState(ChainID, 1, -1, g)
	if err != nil {
		return nil, err
	}
	return &Single{net: n, state: s}, nil
}

// State returns the committed state.
func (o *Single) State() *app.State { return o.state }

// Closed is the result of closing a round.
type Closed struct {
	Record  *app.Record
	Refused int        // gradients that the chain rejected: their senders count as silent
	Before  *app.State // the state before the block that closed the round
	Txs     []*tx.Tx   // of that block
}

// Round closes the open round with all participants' gradients. While some are missing, it executes
// empty blocks until the chain may close the round without them.
func (o *Single) Round() (Closed, error) {
	var closed Closed
	var pending []*tx.Tx
	for _, node := range o.net.Nodes {
		v := o.net.config.Vector(node.Index, o.state)
		if v.Len() == 0 {
			continue
		}
		g := &tx.Gradient{Epoch: o.state.Progress.Epoch, Round: o.state.Progress.Round, Participant: uint32(node.Index),
			Payload: v.Encode()}
		if !o.state.Params.Election.CommitReveal {
			g.VrfProof = proof(node, o.state)
		}
		t, err := tx.Sign(ChainID, g, node.keys.Signing)
		if err != nil {
			return closed, err
		}
		if o.state.Admit(t) != nil {
			closed.Refused++
			continue
		}
		pending = append(pending, t)
	}
	if err := o.commit(pending); err != nil {
		return closed, err
	}
	for range patience {
		height := o.state.Height + 1
		txs, err := o.assemble(height, pending)
		if err != nil {
			return closed, err
		}
		out, err := o.state.Execute(app.Block{Height: height, Txs: txs})
		if err != nil {
			return closed, err
		}
		before := o.state
		o.state = out.State
		if out.Record != nil {
			closed.Record, closed.Before, closed.Txs = out.Record, before, txs
			return closed, nil
		}
	}
	return closed, fmt.Errorf("round %d is not closed after %d heights", o.state.Progress.Round, patience)
}

// commit executes blocks with the commitments to all gradients, on a chain with commit_reveal.
func (o *Single) commit(gradients []*tx.Tx) error {
	var commits []*tx.Tx
	for _, t := range gradients {
		g := t.Gradient
		node := o.net.Nodes[g.Participant]
		c, err := tx.Sign(ChainID, &tx.Commit{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, Hash: t.Content[:],
			VrfProof: proof(node, o.state)}, node.keys.Signing)
		if err != nil {
			return err
		}
		commits = append(commits, c)
	}
	for tries := 0; o.state.Committing() && tries < patience; tries++ {
		height := o.state.Height + 1
		out, err := o.state.Execute(app.Block{Height: height, Txs: o.state.Commits(height, commits, 0)})
		if err != nil {
			return err
		}
		o.state = out.State
	}
	return nil
}

// patience exceeds the number of heights that any round takes.
const patience = 1 << 10

// assemble returns the block of the first participant that may lead at a height. The block is empty
// while nobody may lead, or while the round still waits for missing gradients.
func (o *Single) assemble(height uint64, pending []*tx.Tx) ([]*tx.Tx, error) {
	leaders := slices.Clone(o.state.Progress.Ranking)
	for i := range o.net.Nodes { // in the views after the last rank, the unranked participants
		leaders = append(leaders, uint32(i))
	}
	for _, leader := range leaders {
		draft, err := o.state.DraftAggregate(height, leader, pending)
		switch {
		case errors.Is(err, app.ErrNotLeader):
			continue
		case errors.Is(err, app.ErrNotClosing) && height < o.state.Progress.Opened+o.state.Params.Election.QuorumBlocks:
			return nil, nil
		case err != nil:
			return nil, err
		}
		if lead := o.net.config.Lead; lead != nil {
			if err := lead(o.state, draft); err != nil {
				return nil, err
			}
		}
		t, err := tx.Sign(ChainID, draft, o.net.Nodes[leader].keys.Signing)
		if err != nil {
			return nil, err
		}
		if txs := o.state.Assemble(height, append(pending, t), 0); txs != nil {
			return txs, nil
		}
		return nil, fmt.Errorf("round %d: the leader's own aggregate makes no block", o.state.Progress.Round)
	}
	return nil, nil
}
