package founding

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
)

// Kind is a kind of file. A member sends one file of each kind, in the order of Kinds.
type Kind string

// The kinds of files.
const (
	KindEntry Kind = "entry"
	KindShare Kind = "share"
	KindProof Kind = "proof"
)

// Kinds lists the kinds in the order in which they are sent.
var Kinds = []Kind{KindEntry, KindShare, KindProof}

// Entry fixes a member's keys. Nothing in it is secret.
type Entry struct {
	Proposal       app.HexBytes `json:"proposal"` // its digest
	Name           string       `json:"name"`
	Address        string       `json:"address,omitempty"`
	NodeIDs        []string     `json:"node_ids,omitempty"`
	Relays         []string     `json:"relays,omitempty"` // for all members, as id@host:port
	PubKey         []byte       `json:"pub_key"`
	VrfKey         []byte       `json:"vrf_key"`
	VrfPossession  []byte       `json:"vrf_possession"`
	ConsensusKey   []byte       `json:"consensus_key,omitempty"`
	ConsensusProof []byte       `json:"consensus_proof,omitempty"`
	Signature      []byte       `json:"signature,omitempty"` // by pub_key, over all other fields
}

// Share is a member's part of the seed: the VRF output over the entries that it has seen.
type Share struct {
	Name     string         `json:"name"`
	Entries  []app.HexBytes `json:"entries"` // digests, in the order of the members
	VrfProof []byte         `json:"vrf_proof"`
}

// Proof is a member's VRF proof over the seed, which genesis holds.
type Proof struct {
	Name      string    `json:"name"`
	VrfProof  []byte    `json:"vrf_proof"`
	Time      time.Time `json:"time"`                // when it was made; the latest is the genesis time
	Signature []byte    `json:"signature,omitempty"` // over all other fields
}

// maxRelays bounds the relays of an entry.
const maxRelays = 16

// maxAhead bounds how far the time of a proof may be ahead of this host's clock.
const maxAhead = time.Minute

// identity returns the identity that the entry registers.
func (e *Entry) identity() app.Identity {
	return app.Identity{PubKey: e.PubKey, VrfKey: e.VrfKey, ConsensusKey: e.ConsensusKey, Moniker: e.Name,
		Address: e.Address, NodeIDs: e.NodeIDs}
}

// digest returns the hash by which shares name the entry.
func (e Entry) digest(p Proposal) app.HexBytes { return p.digest("spdl/founding-entry/v1", e) }

// signed returns the bytes that the entry's signature covers.
func (e Entry) signed(p Proposal) []byte {
	e.Signature = nil
	return e.digest(p)
}

// signed returns the bytes that the proof's signature covers.
func (v Proof) signed(p Proposal) []byte {
	v.Signature = nil
	return p.digest("spdl/founding-proof/v1", v)
}

// checkEntry checks the entry of member i without the other files.
func (f *Founding) checkEntry(i int, e *Entry) error {
	p := f.Proposal
	switch {
	case !bytes.Equal(e.Proposal, f.Digest):
		return fmt.Errorf("the entry is for the proposal %x, and %s here is %x: compare the proposals", []byte(e.Proposal),
			ProposalFile, []byte(f.Digest))
	case e.Name != p.Members[i]:
		return fmt.Errorf("the entry is of %q", e.Name)
	}
	if err := e.identity().Check(); err != nil {
		return err
	}
	if err := CheckAddress(hostPort(e.Address)); err != nil {
		return fmt.Errorf("address of the entry: %w", err)
	}
	if len(e.Relays) > maxRelays {
		return fmt.Errorf("the entry has %d relays, at most %d", len(e.Relays), maxRelays)
	}
	for _, relay := range e.Relays { // an entry with a comma would be two relays
		if strings.Contains(relay, ",") {
			return fmt.Errorf("relays of the entry: %q is not one id@host:port", relay)
		}
		if err := admission.CheckRelays(relay); err != nil {
			return fmt.Errorf("relays of the entry: %w", err)
		}
	}
	if _, err := leader.Verify(e.VrfKey, leader.PossessionInput(p.ChainID, e.PubKey), e.VrfPossession); err != nil {
		return fmt.Errorf("vrf_possession: %w", err)
	}
	if err := app.CheckConsensusProof(p.ChainID, e.PubKey, e.ConsensusKey, e.ConsensusProof); err != nil {
		return err
	}
	if !ed25519.Verify(e.PubKey, e.signed(p), e.Signature) {
		return errors.New("the signature is not one with pub_key over the entry: the file was changed")
	}
	return nil
}

// CheckAddress rejects a host:port with an unspecified host, as 0.0.0.0: a node can listen there, and no
// other node can dial it.
func CheckAddress(address string) error {
	host, _, _ := net.SplitHostPort(address) // "" for an entry without an address
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%q is every interface of a host, and no other node can dial it: want the name or the address at "+
			"which the others reach this host", address)
	}
	return nil
}

// hostPort returns an address id@host:port without the id.
func hostPort(address string) string {
	_, at, _ := strings.Cut(address, "@")
	return at
}

// sharedAddresses returns a fault for each entry with the address of an earlier one.
func (f *Founding) sharedAddresses() (all []Fault) {
	of := map[string]string{}
	for _, e := range f.Entries {
		if e == nil || e.Address == "" {
			continue
		}
		at := strings.ToLower(hostPort(e.Address))
		if first := of[at]; first != "" {
			all = append(all, Fault{e.Name, filepath.Base(f.Path(e.Name, KindEntry)), fmt.Sprintf("%s and %s both have the "+
				"address %s: one of them joins again with its own --address, before the shares", first, e.Name, at)})
		} else {
			of[at] = e.Name
		}
	}
	return all
}

// shareInput returns the VRF input of a share over entries by their digests.
func shareInput(p Proposal, proposal app.HexBytes, entries []app.HexBytes) []byte {
	h := sha256.New()
	h.Write(proposal)
	for _, e := range entries {
		h.Write(e)
	}
	return h.Sum(leader.Prefix("spdl/founding-share/v1", p.ChainID))
}

// checkShare checks the share of member i against its entry, and checks that the share is over the
// entries in this folder.
func (f *Founding) checkShare(i int, s *Share) error {
	here := f.entryDigests()
	if len(s.Entries) != len(here) || s.Name != f.Proposal.Members[i] {
		return fmt.Errorf("the share is of %q over %d entries, want of %q over %d", s.Name, len(s.Entries),
			f.Proposal.Members[i], len(here))
	}
	_, err := leader.Verify(f.Entries[i].VrfKey, shareInput(f.Proposal, f.Digest, s.Entries), s.VrfProof)
	if err != nil {
		return fmt.Errorf("the share does not match the commitment, which is vrf_key of the entry: %w", err)
	}
	var others []string
	for k := range here {
		if !bytes.Equal(here[k], s.Entries[k]) {
			others = append(others, f.Proposal.Members[k])
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("%s has seen another entry of %s than the one here: ask them for the SHA-256 of the file that "+
			"they sent; where an entry was changed after a share, %s", s.Name, strings.Join(others, ", "), foundAgain)
	}
	return nil
}

// checkProof checks the proof of member i over the seed.
func (f *Founding) checkProof(i int, v *Proof) error {
	e := f.Entries[i]
	if v.Name != e.Name {
		return fmt.Errorf("the proof is of %q", v.Name)
	}
	if _, err := leader.Verify(e.VrfKey, leader.Input(f.Proposal.ChainID, 0, 0, f.Seed), v.VrfProof); err != nil {
		return fmt.Errorf("the proof is not one with vrf_key of the entry over the seed %x: %w", []byte(f.Seed), err)
	}
	if !ed25519.Verify(e.PubKey, v.signed(f.Proposal), v.Signature) {
		return errors.New("the signature is not one with pub_key of the entry: the file was changed")
	}
	if ahead := time.Until(v.Time); ahead > maxAhead {
		return fmt.Errorf("the proof is dated %v, %v ahead of this host's clock, at most %v: synchronise the clocks (NTP)",
			v.Time, ahead.Round(time.Second), maxAhead)
	}
	return nil
}
