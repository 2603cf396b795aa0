package worker

import (
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// Record is the content of a journal. A worker keeps a copy of the record of its signer.
type Record struct {
	Path          string `json:"path"`
	Entry         entry  `json:"entry"`
	Missing       bool   `json:"missing"`        // whether the file was missing
	Truncated     bool   `json:"truncated"`      // whether the file ended within an entry
	DeclaredEmpty bool   `json:"declared_empty"` // whether the operator declared that nothing is signed for the open round
	NewHome       bool   `json:"new_home"`       // whether the journal is that of a new home, which has signed nothing
}

// mayLackGradients reports whether signed gradients may be missing from the journal: the file was missing, the file
// ended within an entry, or the chain counts more gradients than the journal. An entry that a crash cut short loses no
// sent gradient, but a truncated copy of a file looks the same.
func (r *Record) mayLackGradients(counted uint64) bool {
	return !r.DeclaredEmpty && (r.Missing || r.Truncated || counted > r.Entry.Signed)
}

// isCertain reports whether the journal determines what was signed for the given round: the journal
// has the round's gradient, or nothing was signed (DeclaredEmpty, NewHome). Any other journal
// without the round's gradient may be an old copy.
func (r *Record) isCertain(epoch, round uint64) bool {
	g := r.Entry.Gradient
	return r.DeclaredEmpty || r.NewHome || g != nil && g.Epoch == epoch && g.Round == round
}

// gradient returns the gradient that was signed for the given round, or nil. It fails with ErrJournal if a gradient for
// a later round was signed, because the chain is then behind the journal.
func (r *Record) gradient(epoch, round uint64) (*tx.Tx, error) {
	g := r.Entry.Gradient
	switch {
	case g == nil || epoch > g.Epoch || epoch == g.Epoch && round > g.Round:
		return nil, nil
	case epoch == g.Epoch && round == g.Round:
		return r.decode(g, tx.KindGradient)
	}
	return nil, fmt.Errorf("%w: a gradient for epoch %d round %d is signed, the chain is at epoch %d round %d", ErrJournal,
		g.Epoch, g.Round, epoch, round)
}

// maxCosts returns, in each column, the larger of two costs: the cost in the chain's ledger and the
// cost in the worker's own ledger.
func (r *Record) maxCosts(chain []uint64) []uint64 {
	out := make([]uint64, max(len(chain), len(r.Entry.Spent)))
	for i := range out {
		out[i] = max(params.Entry(chain, i), params.Entry(r.Entry.Spent, i))
	}
	return out
}

// aggregate returns the aggregate that was signed for the round and view of a, or nil. The journal keeps only the
// aggregates of the last round in which the participant led; for an earlier round aggregate fails with ErrDraft.
func (r *Record) aggregate(a *tx.Aggregate) (*tx.Tx, error) {
	for _, s := range r.Entry.Aggregates {
		switch {
		case a.Epoch < s.Epoch || a.Epoch == s.Epoch && a.Round < s.Round:
			return nil, fmt.Errorf("%w: it is for epoch %d round %d, an aggregate of epoch %d round %d is signed", ErrDraft,
				a.Epoch, a.Round, s.Epoch, s.Round)
		case a.Epoch == s.Epoch && a.Round == s.Round && a.View == s.View:
			return r.decode(s, tx.KindAggregate)
		}
	}
	return nil, nil
}

// maxKept bounds the bytes of one round's aggregates in the journal: 7 aggregates of the max size,
// or more than 600 aggregates without a Delta.
const maxKept = 128 << 20

// checkRoom rejects an aggregate of more than maxAggregate bytes, and an aggregate with which the
// round's aggregates would exceed maxKept.
func (r *Record) checkRoom(a *tx.Aggregate) error {
	if a.Size() > maxAggregate {
		return fmt.Errorf("%w: an aggregate of %d bytes, want at most %d", ErrDraft, a.Size(), maxAggregate)
	}
	kept := a.Size()
	for _, s := range r.Entry.Aggregates {
		if s.Epoch == a.Epoch && s.Round == a.Round {
			kept += len(s.Raw)
		}
	}
	if kept > maxKept {
		return fmt.Errorf("%w: the aggregates of epoch %d round %d have %d bytes with it, want at most %d", ErrDraft, a.Epoch,
			a.Round, kept, maxKept)
	}
	return nil
}

// decode decodes a stored transaction. It fails with ErrDamaged if the transaction is not of the given kind.
func (r *Record) decode(s *signedTx, kind tx.Kind) (*tx.Tx, error) {
	t, err := tx.Decode(s.Raw)
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("a %s in the place of a %s", t.Kind(), kind)
	}
	if err != nil {
		return nil, damagedError(r.Path, err)
	}
	return t, nil
}

// snapshot returns the mechanism's state after the last signed gradient. ok is false if that
// gradient is not of the epoch, or has no state.
func (r *Record) snapshot(epoch uint64) (s privacy.Snapshot, ok bool, err error) {
	m := r.Entry.Mechanism
	if m == nil || m.Releases == 0 || r.Entry.Gradient == nil || r.Entry.Gradient.Epoch != epoch {
		return s, false, nil
	}
	momentum, err := app.DecodeParameters(m.Momentum)
	if err != nil {
		return s, false, damagedError(r.Path, err)
	}
	return privacy.Snapshot{Momentum: momentum, Releases: m.Releases, NoiseVariance: m.NoiseVariance}, true, nil
}
