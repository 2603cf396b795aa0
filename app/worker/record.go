package worker

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// Record is the content of a journal. A worker keeps a copy of the record of its signer.
type Record struct {
	Path          string `json:"path"`
	Entry         entry  `json:"entry"`
	Missing       bool   `json:"missing"`        // there was no file
	Truncated     bool   `json:"truncated"`      // the file ended within an entry
	DeclaredEmpty bool   `json:"declared_empty"` // the operator declared that nothing is signed for the open round
	NewHome       bool   `json:"new_home"`       // the journal is a new home's, which has signed nothing
}

// lost reports whether signed gradients are, or may be, missing from the journal: there was no
// file, the file ends within an entry, or the chain counts more gradients than the journal. An
// entry that a crash cut short proves no loss, because its transaction was not sent; but a
// truncated copy of a file looks the same.
func (r *Record) lost(counted uint64) bool {
	return !r.DeclaredEmpty && (r.Missing || r.Truncated || counted > r.Entry.Signed)
}

// covers reports whether the journal tells what was signed for a round: it has the round's
// gradient, or it is a new home's, with which nothing was signed. Any other journal without the
// gradient may be an old copy.
func (r *Record) covers(epoch, round uint64) bool {
	g := r.Entry.Gradient
	return r.DeclaredEmpty || r.NewHome || g != nil && g.Epoch == epoch && g.Round == round
}

// gradient returns the gradient that was signed for a round, or nil. It fails if a gradient for a
// later round was signed, because the chain is then behind the journal.
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

// spent returns, at each order, the larger of the costs in the chain's and in the worker's own
// ledger.
func (r *Record) spent(chain []uint64) []uint64 {
	out := slices.Clone(chain)
	for i, own := range r.Entry.Spent {
		if i < len(out) {
			out[i] = max(out[i], own)
		} else {
			out = append(out, own)
		}
	}
	return out
}

// aggregate returns the aggregate that was signed for a round and view, or nil. It fails for rounds
// before the last one with an aggregate, because the journal no longer has theirs.
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

// maxKept bounds the bytes of the aggregates kept of a round: 7 of the largest, and more than 600 without a Delta.
const maxKept = 128 << 20

// room rejects an aggregate that is larger than any, and more of them for a round than the journal keeps.
func (r *Record) room(a *tx.Aggregate) error {
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

// decode decodes a stored transaction of a kind.
func (r *Record) decode(s *signed, kind tx.Kind) (*tx.Tx, error) {
	t, err := tx.Decode(s.Raw)
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("a %s in the place of a %s", t.Kind(), kind)
	}
	if err != nil {
		return nil, damaged(r.Path, err)
	}
	return t, nil
}

// snapshot returns the mechanism's state after the last signed gradient, if that belongs to an
// epoch.
func (r *Record) snapshot(epoch uint64) (s privacy.Snapshot, ok bool, err error) {
	m := r.Entry.Mechanism
	if m == nil || m.Releases == 0 || r.Entry.Gradient == nil || r.Entry.Gradient.Epoch != epoch {
		return s, false, nil
	}
	momentum, err := app.DecodeParameters(m.Momentum)
	if err != nil {
		return s, false, damaged(r.Path, err)
	}
	return privacy.Snapshot{Momentum: momentum, Releases: m.Releases, NoiseVariance: m.NoiseVariance}, true, nil
}
