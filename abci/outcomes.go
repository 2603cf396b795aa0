package abci

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// outcomes caches the results of Execute, by the block's content, from the proposal to
// FinalizeBlock. An outcome depends on the committed state, the height, the transactions and the
// evidence alone, so PrepareProposal's serves the same node's ProcessProposal too. Two blocks with
// the same round but different operations share the result of the round.
type outcomes struct {
	mu     sync.Mutex
	held   map[[32]byte]*app.Outcome
	closed map[[32]byte]*app.Closed // by the content of a block with the round alone
}

// maxOutcomes is the max number of cached outcomes; a full cache is emptied.
const maxOutcomes = 8

func (o *outcomes) get(key, round [32]byte) (*app.Outcome, *app.Closed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[key], o.closed[round]
}

func (o *outcomes) put(key, round [32]byte, out *app.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil || len(o.held) >= maxOutcomes {
		o.held, o.closed = make(map[[32]byte]*app.Outcome, maxOutcomes), make(map[[32]byte]*app.Closed, maxOutcomes)
	}
	o.held[key] = out
	if out.Closed != nil {
		o.closed[round] = out.Closed
	}
}

func (o *outcomes) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held, o.closed = nil, nil
}

// execute runs the core on decoded transactions, or returns the cached outcome.
func (a *Application) execute(s *app.State, height int64, txs []*tx.Tx, proven []abcitypes.Misbehavior) (*app.Outcome, error) {
	b := app.Block{Height: uint64(height), Txs: txs, Misbehavior: misbehaviors(proven)}
	alone, _ := b.Round()
	key, round := contentKey(b), contentKey(app.Block{Height: b.Height, Txs: alone})
	out, closed := a.outcomes.get(key, round)
	if out != nil {
		return out, nil
	}
	b.Closed = closed
	start := a.options.Now()
	out, err := s.Judge(b)
	if err != nil {
		return nil, err
	}
	if out.Record != nil && closed == nil {
		a.options.Metrics.Executed(a.options.Now().Sub(start))
	}
	a.outcomes.put(key, round, out)
	return out, nil
}

// contentKey names a block by its height, transactions and evidence.
func contentKey(b app.Block) [32]byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, b.Height))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b.Txs))))
	for _, t := range b.Txs {
		h.Write(t.Hash[:])
	}
	for _, m := range b.Misbehavior {
		h.Write(binary.BigEndian.AppendUint32(nil, m.Type))
		h.Write(binary.BigEndian.AppendUint64(nil, m.Height))
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m.Address))))
		h.Write(m.Address)
	}
	return [32]byte(h.Sum(nil))
}
