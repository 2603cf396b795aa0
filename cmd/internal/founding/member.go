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

// Member is the part of a founding that a member runs. Its folder keeps a copy of each file that the member made, so
// that the member never makes a sent file a second time, whatever happens to the exchanged one.
type Member struct {
	Copies string // the folder of the copies
	Keys   worker.Keys
}

// CopiesIn returns the folder of a home in which the copies are.
func CopiesIn(home string) string { return filepath.Join(home, "config", "founding") }

// EntryOf returns the entry that a home has made for its founding, which is public also where the home's keys are
// encrypted. It returns fs.ErrNotExist if the home has joined none.
func EntryOf(home string) (e Entry, err error) {
	return e, read(Member{Copies: CopiesIn(home)}.copy(KindEntry), &e)
}

// ErrElsewhere is the error of a home that has joined the founding of another proposal.
var ErrElsewhere = errors.New("this home belongs to another founding")

// Enter makes the member's entry, or restores the exchanged file from the copy. The member wants
// all members to dial relays, each as id@host:port. An entry that differs from the member's former
// one for the proposal replaces it, unless a share is over the former one. A home of another founding
// gets ErrElsewhere if leave is nil. Otherwise Enter calls leave, and removes the copies of that
// founding. Nothing of the home has changed before the exchanged entry is in the folder.
func (m Member) Enter(f *Founding, who app.Identity, relays []string, consensus ed25519.PrivateKey,
	leave func() error) (*Entry, error) {
	p := f.Proposal
	e := Entry{Proposal: f.Digest, Name: who.Moniker, Address: who.Address, NodeIDs: who.NodeIDs, Relays: relays,
		PubKey: who.PubKey, VrfKey: who.VrfKey, ConsensusKey: who.ConsensusKey,
		VrfPossession: app.ProveVRFKey(p.ChainID, who.PubKey, m.Keys.VRF)}
	if len(who.ConsensusKey) > 0 {
		e.ConsensusProof = app.ProveConsensusKey(p.ChainID, who.PubKey, consensus)
	}
	e.Signature = ed25519.Sign(m.Keys.Signing, e.signed(p))
	former, err := m.Joined(f)
	switch {
	case err == nil && !same(former, e):
		err = m.replace(f, former, e)
	case errors.Is(err, ErrElsewhere) && leave != nil:
		err = m.move(f, e, leave)
	case errors.Is(err, os.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	made, err := publish(m, f, e.Name, KindEntry, e)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(f.Folder)
	if err != nil {
		return nil, err
	}
	return made, replaceFile(m.folder(), folder)
}

// replace puts the entry next in place of the member's former one for the proposal: in the folder, and
// then as the copy.
func (m Member) replace(f *Founding, former, next Entry) error {
	if names := m.shared(f); len(names) > 0 {
		return fmt.Errorf("the entry of %s cannot change any more: the share of %s in %s is over it, and a member makes one "+
			"share for a proposal; %s", former.Name, strings.Join(names, ", "), f.Folder, foundAgain)
	}
	if err := m.send(f, next, &former); err != nil {
		return err
	}
	path, there := f.Path(former.Name, KindEntry), Entry{}
	if err := read(path, &there); err == nil && same(former, there) {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Remove(m.copy(KindEntry))
}

// move leaves the home's former founding for that of f. It first writes the exchanged entry, which the
// same keys make byte for byte again.
func (m Member) move(f *Founding, next Entry, leave func() error) error {
	if err := m.send(f, next, nil); err != nil {
		return err
	}
	if err := leave(); err != nil {
		return err
	}
	return os.RemoveAll(m.Copies)
}

// send writes the exchanged entry. It replaces the member's former one, and leaves a file that is not the member's.
func (m Member) send(f *Founding, next Entry, former *Entry) error {
	path, there := f.Path(next.Name, KindEntry), Entry{}
	switch err := read(path, &there); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case former == nil && !same(next, there), former != nil && !same(next, there) && !same(*former, there):
		return foreign(path, m.Copies, next.Name)
	}
	return replaceFile(path, next)
}

// foreign is the error of an exchanged file that differs from what the home made.
func foreign(path, made, name string) error {
	return fmt.Errorf("%s is not what this home made, %s: somebody else took the name %s, or the file was changed; "+
		"remove it, and ask who sent it. If this home has left the founding and joined it again, its former proof "+
		"stays valid: take the genesis.json of another member", path, made, name)
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

// Own returns the member's entry in the folder. It returns an error if the entry is not the one that the member made.
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
		return nil, foreign(path, kept, name)
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
// there is none, and ErrElsewhere if the entry is for another proposal.
func (m Member) Joined(f *Founding) (e Entry, err error) {
	if err := read(m.copy(KindEntry), &e); err != nil {
		return e, err
	}
	if !bytes.Equal(e.Proposal, f.Digest) {
		var folder, in string
		if err := read(m.folder(), &folder); err == nil {
			in = " in " + folder
		}
		return e, fmt.Errorf("%w: it has joined the proposal %x%s, and %s has %x", ErrElsewhere, []byte(e.Proposal), in,
			f.Folder, []byte(f.Digest))
	}
	return e, nil
}

// folder returns the path of the file with the absolute path of the joined founding's folder.
func (m Member) folder() string { return filepath.Join(m.Copies, "folder.json") }
