package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Single is a chain whose participants are honest, but for Config.Vector and Config.Lead. It has one
// State: DraftAggregate drafts a block, Assemble builds it, and Execute judges it once. A net of the
// tests, in which every node judges it, has the same model, bit for bit (TestSameAsTheNet), in N times
// the time. It is not safe for concurrent use.
type Single struct {
	config Config
	keys   []worker.Keys // by participant
	state  *app.State
}

// NewSingle starts the chain of a Config. It ignores Delay.
func NewSingle(c Config) (*Single, error) {
	s, err := app.NewState(ChainID, 1, -1, c.genesis())
	if err != nil {
		return nil, err
	}
	o := &Single{config: c, state: s}
	for i := range c.Nodes {
		o.keys = append(o.keys, c.keys(i, 0))
	}
	return o, nil
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
	for i, keys := range o.keys {
		v := o.config.Vector(i, o.state)
		if v.Len() == 0 {
			continue
		}
		g := &tx.Gradient{Epoch: o.state.Progress.Epoch, Round: o.state.Progress.Round, Participant: uint32(i),
			Payload: v.Encode()}
		if !o.state.Params.Election.CommitReveal {
			g.VrfProof = proof(keys, o.state)
		}
		t, err := tx.Sign(ChainID, g, keys.Signing)
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
		keys := o.keys[g.Participant]
		c, err := tx.Sign(ChainID, &tx.Commit{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, Hash: t.Content[:],
			VrfProof: proof(keys, o.state)}, keys.Signing)
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
	for i := range o.keys { // in the views after the last rank, the unranked participants
		leaders = append(leaders, uint32(i))
	}
	for _, index := range leaders {
		draft, err := o.state.DraftAggregate(height, index, pending)
		switch {
		case errors.Is(err, app.ErrNotLeader):
			continue
		case errors.Is(err, app.ErrNotClosing) && height < o.state.Progress.Opened+o.state.Params.Election.QuorumBlocks:
			return nil, nil
		case err != nil:
			return nil, err
		}
		if lead := o.config.Lead; lead != nil {
			if err := lead(o.state, draft); err != nil {
				return nil, err
			}
		}
		t, err := tx.Sign(ChainID, draft, o.keys[index].Signing)
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

// proof returns the VRF proof of a participant's keys for the open round of a state.
func proof(keys worker.Keys, s *app.State) []byte { return leader.Prove(keys.VRF, s.VRFInput()) }
