package query

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/memo"
)

// Attempt is an aggregate that did not close its round. It is an observation of this node: another node may not have
// seen the aggregate, and the chain records only that the aggregate's leader was passed over.
type Attempt struct {
	Leader   uint32 `json:"leader"`
	View     uint32 `json:"view"`
	Included int    `json:"included"`
	Digest   string `json:"digest,omitempty"` // the digest of Delta; "" if the chain has a tolerance
	// Recomputed is the digest of the Delta that the rule gives for the same gradients, "" if this
	// node does not know that digest.
	Recomputed string `json:"recomputed,omitempty"`
	Log        string `json:"log,omitempty"` // why a block with the aggregate is invalid; "" if this node knows no reason
}

// maxAttempts is the max number of remembered attempts for one round.
const maxAttempts = 64

// Attempts remembers, for each of the last maxRounds closed rounds, the aggregates that were
// proposed and did not close the round. It does not affect the state.
type Attempts struct {
	mu      sync.Mutex
	byRound *memo.LRU[params.RoundID, []Attempt]
}

// NewAttempts returns Attempts without any attempt.
func NewAttempts() *Attempts {
	return &Attempts{byRound: memo.NewLRU[params.RoundID, []Attempt](maxRounds, nil)}
}

// Record remembers the aggregates that did not close the round of record r. aggregates holds all
// aggregates that the pool had before the block.
func (a *Attempts) Record(r *app.Record, aggregates []pool.Aggregate) {
	var list []Attempt
	for _, x := range aggregates {
		if g := x.Tx.Aggregate; g.Leader != r.Leader || g.View != r.View {
			list = append(list, attemptOf(x, r, aggregates))
		}
	}
	slices.SortFunc(list, func(x, y Attempt) int {
		return cmp.Or(cmp.Compare(x.View, y.View), cmp.Compare(x.Leader, y.Leader))
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byRound.Add(params.RoundID{Epoch: r.Epoch, Round: r.Round}, list[:min(len(list), maxAttempts)])
}

// attemptOf describes the aggregate x of a closed round. Recomputed comes from the error of x, if
// that error has a digest. Otherwise it comes from the round's record, if x lists the same
// gradients as the aggregate that closed the round: the same gradients give the same Delta.
func attemptOf(x pool.Aggregate, r *app.Record, seen []pool.Aggregate) Attempt {
	g := x.Tx.Aggregate
	out := Attempt{Leader: g.Leader, View: g.View, Included: len(g.Included), Digest: hex.EncodeToString(g.Digest)}
	if x.Err != nil {
		out.Log = TruncateLog(x.Err.Error())
	}
	var wrong *app.DigestError
	if errors.As(x.Err, &wrong) {
		out.Recomputed = hex.EncodeToString(wrong.Recomputed)
		return out
	}
	i := slices.IndexFunc(seen, func(y pool.Aggregate) bool {
		return y.Tx.Aggregate.Leader == r.Leader && y.Tx.Aggregate.View == r.View
	})
	if i >= 0 && len(g.Digest) > 0 && tx.SameIncluded(g.Included, seen[i].Tx.Aggregate.Included) {
		out.Recomputed = hex.EncodeToString(r.DeltaDigest)
	}
	return out
}

// attempts returns the aggregates that did not close a round. It fails with ErrNotFound if
// this node did not see the round close, or no longer remembers the round.
func (q *Queries) attempts(_ *app.State, epoch, t uint64) ([]Attempt, error) {
	q.Attempts.mu.Lock()
	defer q.Attempts.mu.Unlock()
	list, ok := q.Attempts.byRound.Peek(params.RoundID{Epoch: epoch, Round: t})
	if !ok {
		return nil, fmt.Errorf("%w: no attempts of epoch %d round %d, the last %d rounds that this node saw closed are kept",
			ErrNotFound, epoch, t, maxRounds)
	}
	return nonNil(list), nil
}
