package dossier

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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
}

// Prove checks every proof of the evidence. The caller must trust the chain's headers.
func (e *Evidence) Prove(ctx context.Context, c Chain) (*Facts, error) {
	f := &Facts{Chain: c, Height: uint64(c.Last().Height), Log: e.Log}
	var err error
	f.Card, err = e.Bundle.Describe()
	for _, step := range []func(*Evidence) error{f.proveState, f.proveRecords, f.proveMembers, f.checkSheets} {
		if err == nil {
			err = step(e)
		}
	}
	if err == nil {
		_, err = e.Log.Check(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	return f, nil
}

// checkSheets checks that each data sheet is of another member, and is signed by a key of it if it is signed.
func (f *Facts) checkSheets(e *Evidence) error {
	for i, s := range e.Declared.Sheets {
		if int64(s.Participant) >= int64(len(f.State.Participants)) || i > 0 &&
			s.Participant <= e.Declared.Sheets[i-1].Participant {
			return fmt.Errorf("data sheet %d is of participant %d, of %d, each once and in order", i, s.Participant,
				len(f.State.Participants))
		}
		err := s.Check()
		if err == nil && s.Signed() {
			err = s.Verify(f.State.ChainID)
		}
		if err != nil {
			return err
		}
		if owner, known := f.Owner(s.Signer); s.Signed() && (!known || owner != s.Participant) {
			return fmt.Errorf("the data sheet of participant %d is signed by the key %X, which is none of its keys",
				s.Participant, s.Signer)
		}
	}
	return nil
}

// proveState decodes the values of the last state.
func (f *Facts) proveState(e *Evidence) (err error) {
	if _, _, f.State, err = e.Bundle.State(); err != nil {
		return err
	}
	hash, s := f.Last().AppHash, f.State
	return errors.Join(
		modelfile.Value("offences", e.Offences, hash, modelfile.Into(&s.Offences, app.DecodeOffences)),
		modelfile.Value("proposals", e.Proposals, hash, modelfile.Into(&s.Proposals, app.DecodeProposals)))
}

// proveRecords checks that the records are those of all closed rounds: the state has the root and
// the size of their tree.
func (f *Facts) proveRecords(e *Evidence) error {
	var leaves []app.Pair
	for i, raw := range e.Records {
		r, err := app.DecodeRecord(raw)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		f.Records, leaves = append(f.Records, r), append(leaves, app.Pair{Key: r.Pair().Key, Value: raw})
	}
	root, count := app.Root(leaves), binary.BigEndian.AppendUint64(nil, uint64(len(leaves)))
	equal := func(own []byte) func([]byte) error {
		return func(proven []byte) error {
			if !bytes.Equal(own, proven) {
				return fmt.Errorf("the state has %X, that of its %d records is %X", proven, len(leaves), own)
			}
			return nil
		}
	}
	return errors.Join(modelfile.Value("closed", e.Closed, f.Last().AppHash, equal(count)),
		modelfile.Value("history", e.History, f.Last().AppHash, equal(root[:])))
}

// proveMembers checks that the members are proven on both sides of each change.
func (f *Facts) proveMembers(e *Evidence) error {
	for i, m := range e.Members {
		h := f.At(m.Height)
		if h == nil || i > 0 && m.Height <= e.Members[i-1].Height || i == 0 && int64(m.Height) != f.First() {
			return fmt.Errorf("%w: the members of height %d are out of order", proof.ErrNotProven, m.Height)
		}
		snapshot := Snapshot{Height: m.Height}
		if err := modelfile.Value("participants", m.Proven, h.AppHash,
			modelfile.Into(&snapshot.All, app.DecodeParticipants)); err != nil {
			return fmt.Errorf("members of height %d: %w", m.Height, err)
		}
		f.Members = append(f.Members, snapshot)
	}
	if len(f.Members) == 0 {
		return fmt.Errorf("%w: it has no members", proof.ErrNotProven)
	}
	if f.Members[len(f.Members)-1].Height < f.Height {
		f.Members = append(f.Members, Snapshot{f.Height, f.State.Participants})
	}
	for i := 1; i < len(f.Members); i++ {
		a, b := f.Members[i-1], f.Members[i]
		if a.Height+1 != b.Height && !sameMembers(a.All, b.All) {
			return fmt.Errorf("%w: members changed between heights %d and %d, and the evidence does not show when",
				proof.ErrNotProven, a.Height, b.Height)
		}
	}
	return nil
}

// sameMembers reports whether no participant joined, left or replaced a key between two states: a former
// member does not return, and an index is not used again.
func sameMembers(a, b []app.Participant) bool {
	return slices.EqualFunc(a, b, func(x, y app.Participant) bool { return differs(x, y) == nil })
}

// Snapshot holds the members that the header of a height proves.
type Snapshot struct {
	Height uint64
	All    []app.Participant
}

// Active returns the number of active participants in the state on which the block of a height was executed.
func (f *Facts) Active(height uint64) (n int) {
	all := f.Members[0].All
	for _, s := range f.Members {
		if s.Height <= height {
			all = s.All
		}
	}
	for _, p := range all {
		if p.Active {
			n++
		}
	}
	return n
}

// Owner returns the participant that has or had a signing key, according to the proven members.
func (f *Facts) Owner(key []byte) (uint32, bool) {
	for _, s := range append(slices.Clone(f.Members), Snapshot{f.Height, f.State.Participants}) {
		if p := (&app.State{Participants: s.All}).HolderOf(key); p != nil {
			return p.Index, true
		}
	}
	return 0, false
}

// Change is a change of a participant between two states.
type Change struct {
	Participant uint32
	What        string
	Height      uint64 // of the block that changed it
}

// Changes returns all changes of members, in their order.
func (f *Facts) Changes() (out []Change) {
	for i := 1; i < len(f.Members); i++ {
		before, after := f.Members[i-1], f.Members[i]
		for j, p := range after.All {
			if j >= len(before.All) {
				out = append(out, Change{p.Index, "became a member", before.Height})
				continue
			}
			for _, what := range differs(before.All[j], p) {
				out = append(out, Change{p.Index, what, before.Height})
			}
		}
	}
	return out
}

// differs describes the change of a participant between two states.
func differs(a, b app.Participant) (out []string) {
	if a.Active != b.Active {
		out = append(out, "left")
	}
	if string(a.PubKey) != string(b.PubKey) || len(a.FormerKeys) != len(b.FormerKeys) {
		out = append(out, "rotated its signing key")
	}
	if string(a.VrfKey) != string(b.VrfKey) {
		out = append(out, "rotated its VRF key")
	}
	switch {
	case string(a.ConsensusKey) == string(b.ConsensusKey) && len(a.FormerValidators) == len(b.FormerValidators):
	case len(b.ConsensusKey) == 0:
		out = append(out, "lost its validator")
	default:
		out = append(out, "changed the key of its validator")
	}
	return out
}
