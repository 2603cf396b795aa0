package pool

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/memo"
)

// maxOutcomes is the max number of cached outcomes.
const maxOutcomes = 8

// Executor executes blocks. It caches each outcome until the commit, under a hash of the block's
// content. An outcome depends only on the committed state, the height, the transactions and the
// evidence. So the outcome that PrepareProposal computed also serves ProcessProposal on the same
// node. Two blocks with the same round but different operations share the result of the round.
type Executor struct {
	now      func() time.Time
	metrics  *metrics.Metrics
	outcomes *memo.Bounded[[32]byte, *app.Outcome]
	// rounds caches the results of rounds, under the contentKey of a block that has only the round's transactions.
	rounds *memo.Bounded[[32]byte, *app.Closed]
}

func NewExecutor(now func() time.Time, m *metrics.Metrics) *Executor {
	return &Executor{now: now, metrics: m, outcomes: memo.New[[32]byte, *app.Outcome](maxOutcomes),
		rounds: memo.New[[32]byte, *app.Closed](maxOutcomes)}
}

// Execute executes a block, or returns its cached outcome.
func (x *Executor) Execute(s *app.State, b app.Block) (*app.Outcome, error) {
	return x.outcomes.Get(contentKey(b), func() (*app.Outcome, error) {
		alone, _ := b.Round()
		round := contentKey(app.Block{Height: b.Height, Txs: alone})
		closed, known := x.rounds.Cached(round)
		b.Closed = closed
		start := x.now()
		out, err := s.SafeExecute(b)
		if err != nil {
			return nil, err
		}
		if out.Record != nil && !known {
			x.metrics.Observe("execute_seconds", x.now().Sub(start).Seconds())
		}
		if out.Closed != nil {
			x.rounds.Put(round, out.Closed)
		}
		return out, nil
	})
}

// Clear drops all outcomes. After a commit the cached outcomes of that height are of no use.
func (x *Executor) Clear() {
	x.outcomes.Clear()
	x.rounds.Clear()
}

// contentKey returns a hash over a block's height, transactions and evidence.
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
