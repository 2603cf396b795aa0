package databases

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	dbm "github.com/cometbft/cometbft-db"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
)

// pendingPrefix is the first byte of the keys under which CometBFT's evidence pool stores pending evidence.
const pendingPrefix = 0x01

// ErrNeedless is the error for a piece of evidence whose validators the chain or another pending
// piece already convicts.
var ErrNeedless = errors.New("evidence that convicts nobody more")

// evidenceDB is the database of CometBFT's evidence pool. It rejects needless pieces of evidence from consensus, peers
// and RPC, so that the pool has at most one pending piece for each validator. CometBFT itself sets no bound: it puts
// all pending pieces into blocks, sends all of them to every peer every 10 s, and hashes all of them for each block
// with evidence. A block with a needless piece is still valid.
type evidenceDB struct {
	dbm.DB
	state func() *app.State // returns nil before the chain's first block

	mu sync.Mutex // held from the check of the pending pieces until the write
}

// Set stores a value. It returns ErrNeedless for a piece of pending evidence that is not needed.
func (c *evidenceDB) Set(key, value []byte) error {
	if len(key) == 0 || key[0] != pendingPrefix {
		return c.DB.Set(key, value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	proven, err := misbehaviorIn(value)
	if err != nil {
		return err
	}
	if err := c.checkNeeded(proven); err != nil {
		return err
	}
	return c.DB.Set(key, value)
}

// checkNeeded returns ErrNeedless if each validator in proven is in a pending piece of evidence, or is one that the
// state would not convict (app.State.Convicts). It reads the pending pieces first and the state second. CometBFT
// removes a committed piece from the pending pieces only after the application has committed the piece's block. So each
// piece is found in at least one of the two places.
func (c *evidenceDB) checkNeeded(proven []app.Misbehavior) error {
	proven, err := c.withoutPending(proven)
	if err != nil {
		return err
	}
	if len(proven) == 0 {
		return fmt.Errorf("%w: a piece against each of its validators waits, want at most 1 each", ErrNeedless)
	}
	state := c.state()
	if state != nil && !slices.ContainsFunc(proven, state.Convicts) {
		return fmt.Errorf("%w: its validators are on the list of offences, restored since, or no participants'", ErrNeedless)
	}
	return nil
}

// withoutPending returns the elements of proven whose validator is in no pending piece of evidence.
func (c *evidenceDB) withoutPending(proven []app.Misbehavior) ([]app.Misbehavior, error) {
	its, err := dbm.IteratePrefix(c.DB, []byte{pendingPrefix})
	if err != nil {
		return nil, err
	}
	defer func() { _ = its.Close() }()
	for ; its.Valid() && len(proven) > 0; its.Next() {
		held, err := misbehaviorIn(its.Value())
		if err != nil {
			return nil, err
		}
		proven = slices.DeleteFunc(proven, func(m app.Misbehavior) bool {
			return slices.ContainsFunc(held, func(h app.Misbehavior) bool { return string(h.Address) == string(m.Address) })
		})
	}
	return proven, its.Error()
}

// misbehaviorIn decodes a stored piece of evidence, and returns the misbehaviour that it proves.
func misbehaviorIn(value []byte) ([]app.Misbehavior, error) {
	var p cmtproto.Evidence
	if err := p.Unmarshal(value); err != nil {
		return nil, err
	}
	e, err := types.EvidenceFromProto(&p)
	if err != nil {
		return nil, err
	}
	return abci.MisbehaviorOf(types.EvidenceList{e})
}
