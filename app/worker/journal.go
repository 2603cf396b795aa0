package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// ErrJournal means that a journal belongs to another chain or participant, or that the chain is behind the journal.
var ErrJournal = errors.New("journal does not belong here")

// ErrDamaged means that a journal cannot be read. The worker then does not know what it has signed for the open round.
var ErrDamaged = errors.New("journal is damaged")

// damagedError wraps an error about a journal and adds what the operator must do.
func damagedError(path string, err error) error {
	return fmt.Errorf("%w: %s: %w; move the file away and start the worker again: it begins a new journal and sits out "+
		"the round that is open then", ErrDamaged, path, err)
}

// Journal is the file of the transactions that a participant's signer has signed: the last gradient, and the aggregates
// for the last round in which the participant led. It also holds the momentum of the mechanism. Transactions are stored
// byte for byte. An entry is on disk before its transaction is sent, so a restarted worker sends the same bytes again.
// Two different gradients for one round would spend the privacy budget twice, and are evidence of equivocation.
type Journal struct {
	Record
	file *os.File  // open for appending; nil if the next entry begins a new file
	held io.Closer // the lock of the file
	size int       // the size of file in bytes
}

// entry is either the whole content of a journal, or an addition that holds only the changed fields.
type entry struct {
	ChainID  string    `json:"chain_id,omitempty"`
	ID       []byte    `json:"participant_id,omitempty"`
	Gradient *signedTx `json:"gradient,omitempty"`
	// Aggregates holds the aggregates for the last round in which the participant led, one for each view.
	Aggregates []*signedTx `json:"aggregates,omitempty"`
	// Mechanism is the state of the privacy mechanism after Gradient. Mechanism, Spent, Unit and
	// Signed are set together with Gradient.
	Mechanism *mechanism `json:"mechanism,omitempty"`
	// Spent is the worker's own ledger. It counts every signed gradient, while the chain's ledger
	// counts only the gradients of closed rounds.
	Spent []uint64 `json:"spent,omitempty"`
	// Unit is the unit of privacy of all gradients in Spent, as params.Params.UnitName names it. It is
	// empty in the journal of a program with an older state machine than 7.
	Unit string `json:"unit,omitempty"`
	// Signed is the number of gradients that the participant has signed. If the chain counts more
	// gradients, this journal is an old copy.
	Signed uint64 `json:"signed,omitempty"`
	// New marks the journal of a new home, whose keys have not signed any gradient or aggregate yet.
	New bool `json:"new,omitempty"`
}

// mechanism is a privacy.Snapshot with its momentum as bytes.
type mechanism struct {
	Momentum      []byte  `json:"momentum"`
	Releases      int     `json:"releases"`
	NoiseVariance float64 `json:"noise_variance"`
}

// signedTx is a signed transaction for one round. Only an aggregate has a view.
type signedTx struct {
	Epoch uint64 `json:"epoch"`
	Round uint64 `json:"round"`
	View  uint32 `json:"view,omitempty"`
	Raw   []byte `json:"raw"`
	// VRFProof is the round's VRF proof of a gradient that has none, for the commitment to it.
	VRFProof []byte `json:"vrf_proof,omitempty"`
}

// NewJournal writes the journal of a new home if the path has no journal. From that journal the
// worker knows that nothing is signed for the open round, so it takes part in its first round.
func NewJournal(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	j := &Journal{Record: Record{Path: path}}
	if err := j.begin(entry{New: true}); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return j.Close()
}

// OpenJournal reads the journal at path, for the participant with the given id on the given chain. If the file is
// missing, OpenJournal begins a new journal. A file that holds {} also begins a journal: with {} the operator declares
// that nothing is signed for the open round. With an empty path the journal is only in memory, for simulations. The
// file stays locked until Close. Errors: ErrBusy, ErrDamaged, ErrJournal, or an error of the file system.
func OpenJournal(path, chainID string, id []byte) (*Journal, error) {
	if path == "" {
		return &Journal{Record: Record{Entry: entry{ChainID: chainID, ID: id}, NewHome: true}}, nil
	}
	held, err := Lock(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	_ = os.Remove(path + begunSuffix) // a killed process may have left this file behind
	j, err := readJournal(path, chainID, id)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	j.held = held
	return j, nil
}

func readJournal(path, chainID string, id []byte) (*Journal, error) {
	j := &Journal{Record: Record{Path: path, Entry: entry{ChainID: chainID, ID: id}}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		j.Missing = true
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if j.DeclaredEmpty = string(bytes.TrimSpace(data)) == "{}"; j.DeclaredEmpty {
		return j, nil
	}
	e, torn, err := readEntries(data)
	if err != nil {
		return nil, damagedError(path, err)
	}
	j.Truncated, j.NewHome = torn, e.New
	if j.NewHome {
		return j, nil
	}
	if e.ChainID != chainID || string(e.ID) != string(id) {
		return nil, fmt.Errorf("%w: %s is of participant %X on chain %q, and this home's is %X on chain %q: put back the "+
			"journal of this home; if there is none, move the file away, and the worker begins a new one and sits out the "+
			"round that is open", ErrJournal, path, e.ID, e.ChainID, id, chainID)
	}
	j.Entry = e
	return j, nil
}

func (j *Journal) putAggregate(t *tx.Tx) error {
	a := t.Aggregate
	return j.add(entry{Aggregates: []*signedTx{{Epoch: a.Epoch, Round: a.Round, View: a.View, Raw: t.Raw}}})
}

// merge returns a copy of the entry to which an addition is applied.
func (e entry) merge(added entry) entry {
	if g := added.Gradient; g != nil {
		e.Gradient, e.Mechanism, e.Spent, e.Unit, e.Signed = g, added.Mechanism, added.Spent, added.Unit, added.Signed
	}
	for _, s := range added.Aggregates {
		if all := e.Aggregates; len(all) > 0 && (all[0].Epoch != s.Epoch || all[0].Round != s.Round) {
			e.Aggregates = nil
		}
		e.Aggregates = append(slices.Clip(e.Aggregates), s)
	}
	return e
}

// add writes an addition to the disk and then to the record in memory. If add fails, the
// transaction in the addition must not be sent.
func (j *Journal) add(added entry) error {
	whole := j.Entry.merge(added)
	if err := j.save(whole, added); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.Entry = whole
	return nil
}

// JournalInfo is a summary of a journal's file for an operator.
type JournalInfo struct {
	ChainID string
	ID      []byte // the participant's id, as from app.ParticipantID
	Signed  uint64 // the number of signed gradients
	Unit    string // the unit of privacy of their ledger; empty before the first, and in older journals
	Missing bool   // whether the file is missing
	New     bool   // whether nothing is signed: the journal of a new home, or {} from the operator
}

// ReadJournalInfo returns the summary of the journal at the given path. It does not take the
// journal's lock. It fails with ErrDamaged if the file cannot be decoded.
func ReadJournalInfo(path string) (JournalInfo, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return JournalInfo{Missing: true}, nil
	case err != nil:
		return JournalInfo{}, fmt.Errorf("journal: %w", err)
	case string(bytes.TrimSpace(data)) == "{}":
		return JournalInfo{New: true}, nil
	}
	e, _, err := readEntries(data)
	if err != nil {
		return JournalInfo{}, damagedError(path, err)
	}
	return JournalInfo{ChainID: e.ChainID, ID: e.ID, Signed: e.Signed, Unit: e.Unit, New: e.New}, nil
}
