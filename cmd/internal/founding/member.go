package founding

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/worker"
)

// Member is the part of a founding that a member runs. Its folder keeps a copy of each file that
// the member made, so that the member never makes a sent file a second time, whatever happens to
// the exchanged one.
type Member struct {
	Copies string // the folder of the copies
	Keys   worker.Keys
}

// CopiesIn returns the folder of a home in which the copies are.
func CopiesIn(home string) string { return filepath.Join(home, "config", "founding") }

// Enter makes the member's entry, or restores the exchanged file from the copy. The member wants
// all members to dial relays, each as id@host:port. An entry that differs from the member's former
// one for the proposal replaces it, unless a share is over the former one.
func (m Member) Enter(f *Founding, who app.Identity, relays []string, consensus ed25519.PrivateKey) (*Entry, error) {
	p := f.Proposal
	e := Entry{Proposal: f.Digest, Name: who.Moniker, Address: who.Address, NodeIDs: who.NodeIDs, Relays: relays,
		PubKey: who.PubKey, VrfKey: who.VrfKey, ConsensusKey: who.ConsensusKey,
		VrfPossession: app.ProveVRFKey(p.ChainID, who.PubKey, m.Keys.VRF)}
	if len(who.ConsensusKey) > 0 {
		e.ConsensusProof = app.ProveConsensusKey(p.ChainID, who.PubKey, consensus)
	}
	e.Signature = ed25519.Sign(m.Keys.Signing, e.signed(p))
	if err := m.withdraw(f, e); err != nil {
		return nil, err
	}
	return publish(m, f, e.Name, KindEntry, e)
}

// withdraw removes the member's former entry for the proposal, if it differs from next. It leaves an
// exchanged file that is not the member's.
func (m Member) withdraw(f *Founding, next Entry) error {
	former, err := m.Joined(f)
	if errors.Is(err, os.ErrNotExist) || err == nil && same(former, next) {
		return nil
	}
	if err != nil {
		return err
	}
	if names := m.shared(f); len(names) > 0 {
		return fmt.Errorf("the entry of %s cannot change any more: the share of %s in %s is over it, and a member makes one "+
			"share for a proposal; %s", former.Name, strings.Join(names, ", "), f.Folder, foundAgain)
	}
	path, there := f.Path(former.Name, KindEntry), Entry{}
	if err := read(path, &there); err == nil && same(former, there) {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Remove(m.copy(KindEntry))
}

// shared returns the members whose shares the folder has, valid or not. If there are none and this home
// has made a share, it returns "this home".
func (m Member) shared(f *Founding) (names []string) {
	for _, name := range f.Proposal.Members {
		if _, err := os.Stat(f.Path(name, KindShare)); err == nil {
			names = append(names, name)
		}
	}
	if _, err := os.Stat(m.copy(KindShare)); err == nil && len(names) == 0 {
		names = append(names, "this home")
	}
	return names
}

// Own returns the member's entry in the folder. It returns an error if the entry is not the one
// that the member made.
func (m Member) Own(f *Founding) (*Entry, error) {
	e, err := m.Joined(f)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: this home has joined no founding (spdl consortium join)", err)
	}
	if err != nil {
		return nil, err
	}
	return publish(m, f, e.Name, KindEntry, e)
}

// Share makes the member's share over all entries.
func (m Member) Share(f *Founding, name string) error {
	s := Share{Name: name, Entries: f.entryDigests()}
	s.VrfProof = leader.Prove(m.Keys.VRF, shareInput(f.Proposal, f.Digest, s.Entries))
	_, err := publish(m, f, name, KindShare, s)
	return err
}

// Prove makes the member's proof over the seed.
func (m Member) Prove(f *Founding, name string) error {
	v := Proof{Name: name, VrfProof: app.ProveGenesis(f.Proposal.ChainID, f.Seed, m.Keys.VRF),
		Time: time.Now().UTC().Truncate(time.Second)}
	v.Signature = ed25519.Sign(m.Keys.Signing, v.signed(f.Proposal))
	_, err := publish(m, f, name, KindProof, v)
	return err
}

func (m Member) copy(kind Kind) string { return filepath.Join(m.Copies, string(kind)+".json") }

// publish writes a file of the member: first its copy and then the exchanged file. If there is a
// copy, publish checks that the exchanged file is the same, or writes it again if it is missing.
func publish[T any](m Member, f *Founding, name string, kind Kind, made T) (*T, error) {
	kept, path := m.copy(kind), f.Path(name, kind)
	if err := os.MkdirAll(m.Copies, 0o700); err != nil {
		return nil, err
	}
	before, there := new(T), new(T)
	switch err := read(kept, before); {
	case err == nil:
		made = *before
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", kept, err)
	default:
		if err := writeNew(kept, made); err != nil {
			return nil, err
		}
	}
	switch err := read(path, there); {
	case errors.Is(err, os.ErrNotExist):
		return &made, writeNew(path, made)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case !same(made, *there):
		return nil, fmt.Errorf("%s is not what this home made, %s: somebody else took the name %s, or the file was changed; "+
			"remove it, and ask who sent it", path, kept, name)
	}
	return &made, nil
}

// same reports whether two values have the same JSON.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// Joined returns the entry that the member has made for the proposal. It returns fs.ErrNotExist if
// there is none, and another error if the entry is for another proposal.
func (m Member) Joined(f *Founding) (e Entry, err error) {
	if err := read(m.copy(KindEntry), &e); err != nil {
		return e, err
	}
	if !bytes.Equal(e.Proposal, f.Digest) {
		return e, fmt.Errorf("this home has joined the proposal %x, and %s has %x", []byte(e.Proposal), f.Folder,
			[]byte(f.Digest))
	}
	return e, nil
}
