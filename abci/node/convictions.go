package node

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

// waiting begins the keys under which CometBFT's evidence pool keeps what waits for a block.
const waiting = 0x01

// errNeedless refuses a piece of evidence that would convict nobody whom the chain and the pieces
// that wait do not convict without it.
var errNeedless = errors.New("evidence that convicts nobody more")

// convictions is the database of CometBFT's evidence pool. It refuses needless pieces, so that the
// pool holds at most one for each validator, from whomever they come: consensus, peers or RPC. The
// pool bounds nothing itself. It puts into blocks all that wait, sends them to every peer each
// 10 s, and hashes them for each block that has one. A block with a needless piece stays valid.
type convictions struct {
	dbm.DB
	state func() *app.State // nil before the chain's first block

	mu sync.Mutex // held from the look at what waits until it has changed
}

// Set stores a value, of evidence that waits only where it is needed.
func (c *convictions) Set(key, value []byte) error {
	if len(key) == 0 || key[0] != waiting {
		return c.DB.Set(key, value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	proven, err := provenBy(value)
	if err != nil {
		return err
	}
	if err := c.needed(proven); err != nil {
		return err
	}
	return c.DB.Set(key, value)
}

// needed returns nil if one of the validators is convicted neither by the state nor by what waits.
func (c *convictions) needed(proven []app.Misbehavior) error {
	state := c.state()
	proven = slices.DeleteFunc(proven, func(m app.Misbehavior) bool { return state != nil && !state.Convicts(m) })
	if len(proven) == 0 {
		return fmt.Errorf("%w: its validators are on the list of offences, restored since, or no participants'", errNeedless)
	}
	its, err := dbm.IteratePrefix(c.DB, []byte{waiting})
	if err != nil {
		return err
	}
	defer func() { _ = its.Close() }()
	for ; its.Valid() && len(proven) > 0; its.Next() {
		held, err := provenBy(its.Value())
		if err != nil {
			return err
		}
		proven = slices.DeleteFunc(proven, func(m app.Misbehavior) bool {
			return slices.ContainsFunc(held, func(h app.Misbehavior) bool { return string(h.Address) == string(m.Address) })
		})
	}
	if len(proven) == 0 {
		return fmt.Errorf("%w: a piece against each of its validators waits, want at most 1 each", errNeedless)
	}
	return its.Error()
}

// provenBy decodes a piece of evidence that the pool stores, and returns what it proves.
func provenBy(value []byte) ([]app.Misbehavior, error) {
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
