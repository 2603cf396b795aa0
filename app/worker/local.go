package worker

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

// Local is a Signer that keeps the keys in this process. It is safe for concurrent use.
type Local struct {
	path    string
	reload  func() (Keys, error)
	mu      sync.Mutex
	keys    Keys
	journal *Journal // nil until Open
}

// NewLocal returns a signer with keys and with the journal at the path journal. reload reads the
// keys again; it may be nil.
func NewLocal(keys Keys, reload func() (Keys, error), journal string) *Local {
	return &Local{path: journal, reload: reload, keys: keys}
}

// Keys implements Signer.
func (l *Local) Keys(_ context.Context, reload bool) (PublicKeys, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reload && l.reload != nil {
		if keys, err := l.reload(); err == nil { // while the file is being replaced, the old keys stay in use
			l.keys = keys
		}
	}
	return PublicKeys{l.keys.Public(), l.keys.VRF.Public().(ed25519.PublicKey)}, nil
}

// Open implements Signer.
func (l *Local) Open(_ context.Context, chainID string, id []byte) (*Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(chainID, id); err != nil {
		return nil, err
	}
	record := l.journal.Record
	return &record, nil
}

// open opens the journal for the given chain and for the participant with the given id. If a
// journal is open already and belongs to another chain or participant, open fails with ErrForeign.
func (l *Local) open(chainID string, id []byte) error {
	if l.journal == nil {
		journal, err := OpenJournal(l.path, chainID, id)
		if err != nil {
			return err
		}
		l.journal = journal
		return nil
	}
	if e := l.journal.Entry; e.ChainID != chainID || !bytes.Equal(e.ID, id) {
		return fmt.Errorf("%w: its journal is open for chain %q and participant %X, the request is for %q and %X", ErrForeign,
			e.ChainID, e.ID, chainID, id)
	}
	return nil
}

// checkOpen returns an error if the journal is not open, or belongs to another chain than the given one.
func (l *Local) checkOpen(chainID string) error {
	if l.journal == nil {
		return fmt.Errorf("%w: its journal is not open", ErrSigner) // the client then calls Open again
	}
	return l.open(chainID, l.journal.Entry.ID)
}

// Gradient implements Signer. The entry is on the disk before the signature is returned.
func (l *Local) Gradient(_ context.Context, r *GradientRequest) (*tx.Tx, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.checkOpen(r.ChainID), l.open(r.ChainID, r.ID), r.check()); err != nil {
		return nil, err
	}
	before, err := l.journal.gradient(r.Epoch, r.Round)
	if err != nil {
		return nil, err
	}
	if before != nil {
		if g := before.Gradient; g.Participant != r.Participant || !bytes.Equal(g.Payload, r.Payload) {
			return nil, fmt.Errorf("%w: another gradient is signed for epoch %d round %d", ErrSigned, r.Epoch, r.Round)
		}
		return before, nil
	}
	if own := l.journal.Entry.Unit; own != "" && own != r.Unit {
		return nil, fmt.Errorf("%w: the request's unit of privacy is %q, the journal's ledger is for %q", ErrSigned,
			r.Unit, own)
	}
	for i, spent := range l.journal.Entry.Spent {
		if i >= len(r.Spent) || r.Spent[i] < spent {
			return nil, fmt.Errorf("%w: the request's ledger is below the journal's in column %d", ErrSigned, i)
		}
	}
	g := &tx.Gradient{Epoch: r.Epoch, Round: r.Round, Participant: r.Participant, Payload: r.Payload, Late: r.Late,
		Failed: r.Failed}
	proof, kept := leader.Prove(l.keys.VRF, r.input()), []byte(nil)
	if r.CommitFirst {
		kept = proof
	} else {
		g.VrfProof = proof
	}
	t, err := tx.Sign(r.ChainID, g, l.keys.Signing)
	if err != nil {
		return nil, err
	}
	return t, l.journal.add(r.addition(t, kept, l.journal.Entry))
}

// Commit implements Signer. It writes no entry, because the gradient's entry determines the commitment.
func (l *Local) Commit(_ context.Context, chainID string, c *tx.Commit) (*tx.Tx, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkOpen(chainID); err != nil {
		return nil, err
	}
	t, err := l.journal.gradient(c.Epoch, c.Round)
	if err != nil {
		return nil, err
	}
	if t == nil || t.Gradient.Participant != c.Participant || !bytes.Equal(t.Content[:], c.Hash) {
		return nil, fmt.Errorf("%w: the commitment for epoch %d round %d is to no gradient that is signed", ErrSigned,
			c.Epoch, c.Round)
	}
	if c.VrfProof = l.journal.Entry.Gradient.VRFProof; c.VrfProof == nil { // signed before state machine 7
		c.VrfProof = t.Gradient.VrfProof
	}
	return tx.Sign(chainID, c, l.keys.Signing)
}

// Present implements Signer.
func (l *Local) Present(_ context.Context, chainID string, p *tx.Present) (*tx.Tx, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkOpen(chainID); err != nil {
		return nil, err
	}
	return tx.Sign(chainID, p, l.keys.Signing)
}

// Aggregate implements Signer. The entry is on the disk before the signature is returned. If an
// aggregate is already signed for the view, Aggregate returns that aggregate, even if the draft
// differs: a restarted worker may have another draft, and must send the same bytes again.
func (l *Local) Aggregate(_ context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkOpen(chainID); err != nil {
		return nil, err
	}
	before, err := l.journal.aggregate(a)
	if before != nil || err != nil {
		return before, err
	}
	if err := l.journal.checkRoom(a); err != nil {
		return nil, err
	}
	t, err := tx.Sign(chainID, a, l.keys.Signing)
	if err != nil {
		return nil, err
	}
	return t, l.journal.putAggregate(t)
}

// Close implements Signer.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal == nil {
		return nil
	}
	err := l.journal.Close()
	l.journal = nil
	return err
}

// UseKeys calls f with the keys, for signatures that the journal does not record: those of
// operations and of records of consent.
func (l *Local) UseKeys(f func(Keys) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.keys)
}
