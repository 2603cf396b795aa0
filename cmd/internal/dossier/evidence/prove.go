package evidence

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// Facts are what follows from evidence with trusted headers.
type Facts struct {
	Chain
	Height  uint64 // of the last header
	Card    modelfile.Card
	State   *app.State // only chain id, params, progress, participants, epochs, offences and proposals are set
	Records []app.Record
	Members []Snapshot
	Log     *audit.Log
	Counted audit.Proof // of the log
}

// Prove checks every proof of the evidence. The caller must trust the chain's headers.
func (e *Evidence) Prove(ctx context.Context, c Chain) (*Facts, error) {
	f := &Facts{Chain: c, Height: uint64(c.Last().Height), Log: e.Log}
	var err error
	if f.Card, err = e.Bundle.Describe(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	for _, step := range []func(*Evidence) error{f.proveState, f.proveRecords, f.proveMembers} {
		if err := step(e); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDossier, err)
		}
	}
	if f.Counted, err = e.Log.Check(ctx, c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	if len(e.Declared.Results) != len(e.Log.Entries) {
		return nil, fmt.Errorf("%w: it declares %d results of %d operations", ErrDossier, len(e.Declared.Results),
			len(e.Log.Entries))
	}
	for i, s := range e.Declared.Sheets {
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDossier, err)
		}
		if int64(s.Participant) >= int64(len(f.State.Participants)) || i > 0 &&
			s.Participant <= e.Declared.Sheets[i-1].Participant {
			return nil, fmt.Errorf("%w: data sheet %d is of participant %d, of %d, each once and in order", ErrDossier, i,
				s.Participant, len(f.State.Participants))
		}
		if !s.Signed() {
			continue
		}
		if err := s.Verify(f.State.ChainID); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDossier, err)
		}
		if owner, known := f.Owner(s.Signer); !known || owner != s.Participant {
			return nil, fmt.Errorf("%w: the data sheet of participant %d is signed by the key %X, which is none of its keys",
				ErrDossier, s.Participant, s.Signer)
		}
	}
	return f, nil
}

// proveState decodes the values of the last state. The values in the bundle are already proven.
func (f *Facts) proveState(e *Evidence) (err error) {
	s := &app.State{ChainID: f.Last().ChainID, Height: f.Height - 1}
	f.State = s
	if err = s.Params.Unmarshal(e.Bundle.Params.Value); err == nil {
		err = s.Progress.Unmarshal(e.Bundle.Progress.Value)
	}
	if err == nil {
		s.Epochs, err = app.DecodeEpochs(e.Bundle.Epochs.Value)
	}
	if err == nil {
		s.Participants, err = app.DecodeParticipants(e.Bundle.Participants.Value)
	}
	if err == nil {
		err = e.Offences.Verify("offences", f.Last().AppHash)
	}
	if err == nil {
		s.Offences, err = app.DecodeOffences(e.Offences.Value)
	}
	if err == nil {
		err = e.Proposals.Verify("proposals", f.Last().AppHash)
	}
	if err == nil {
		s.Proposals, err = app.DecodeProposals(e.Proposals.Value)
	}
	return err
}

// proveRecords checks that the records are those of all closed rounds: the state has the root and
// the size of their tree.
func (f *Facts) proveRecords(e *Evidence) error {
	if err := e.History.Verify("history", f.Last().AppHash); err != nil {
		return err
	}
	if err := e.Closed.Verify("closed", f.Last().AppHash); err != nil {
		return err
	}
	if len(e.Closed.Value) != 8 || binary.BigEndian.Uint64(e.Closed.Value) != uint64(len(e.Records)) {
		return fmt.Errorf("%w: it has %d records, the state counts %X closed rounds", proof.ErrNotProven, len(e.Records),
			e.Closed.Value)
	}
	leaves := make([]app.Pair, len(e.Records))
	for i, raw := range e.Records {
		r, err := app.DecodeRecord(raw)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		f.Records = append(f.Records, r)
		leaves[i] = app.Pair{Key: r.Pair().Key, Value: raw}
	}
	if root := app.Root(leaves); !bytes.Equal(root[:], e.History.Value) {
		return fmt.Errorf("%w: its records have the root %X, the state's history has %X", proof.ErrNotProven, root,
			e.History.Value)
	}
	return nil
}

// proveMembers checks that the members are proven on both sides of each change.
func (f *Facts) proveMembers(e *Evidence) error {
	for i, m := range e.Members {
		h := f.At(m.Height)
		if h == nil || i > 0 && m.Height <= e.Members[i-1].Height || i == 0 && int64(m.Height) != f.First() {
			return fmt.Errorf("%w: the members of height %d are out of order", proof.ErrNotProven, m.Height)
		}
		if err := m.Proven.Verify("participants", h.AppHash); err != nil {
			return fmt.Errorf("header of height %d: %w", m.Height, err)
		}
		all, err := app.DecodeParticipants(m.Proven.Value)
		if err != nil {
			return fmt.Errorf("members of height %d: %w", m.Height, err)
		}
		f.Members = append(f.Members, Snapshot{m.Height, all})
	}
	if len(f.Members) == 0 {
		return fmt.Errorf("%w: it has no members", proof.ErrNotProven)
	}
	if f.Members[len(f.Members)-1].Height < f.Height {
		f.Members = append(f.Members, Snapshot{f.Height, f.State.Participants})
	}
	for i := 1; i < len(f.Members); i++ {
		a, b := f.Members[i-1], f.Members[i]
		if a.Height+1 != b.Height && membership(a.All) != membership(b.All) {
			return fmt.Errorf("%w: members changed between heights %d and %d, and the evidence does not show when",
				proof.ErrNotProven, a.Height, b.Height)
		}
	}
	return nil
}
