// Package founding is the protocol by which the members of a consortium make one genesis without a
// server. They exchange files in a folder, over any channel. The founder writes a proposal, and
// each member writes an entry, a share and a proof. ADR 24 has the reasons.
//
// An entry fixes a member's keys. A share is the VRF output of the fixed key over all entries. The
// VRF has only one output for a key and an input, so the entry commits to the share, and no other
// member can know it. The genesis seed is a hash of all shares, so no member has chosen it. A proof
// is the VRF proof over the seed that genesis holds for each participant.
package founding

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/internal/newfile"
	"github.com/spdl/spdl/internal/strictjson"
)

// ProposalFile is the name of the proposal's file.
const ProposalFile = "proposal.json"

// foundAgain is the way out of a founding whose shares no longer fit its entries.
const foundAgain = "found again: spdl consortium new with another folder, and spdl consortium join for it by each " +
	"member with the same --home and --again, which keeps its keys"

// maxFile is the max size in bytes of a file from another member.
const maxFile = 1 << 20

// Founding is the content of a founding's folder: the proposal, and the members' files that are valid. Slices are in
// the order of the members, and nil stands for a file that is missing or faulty.
type Founding struct {
	Folder   string
	Proposal Proposal
	Digest   app.HexBytes // of the proposal
	Entries  []*Entry
	Shares   []*Share     // set once all entries are there
	Seed     app.HexBytes // set once all shares are there
	Proofs   []*Proof     // set once all shares are there
	Faults   []Fault
}

// Fault is a file that is not valid.
type Fault struct {
	Member string `json:"member"`
	File   string `json:"file"`
	Error  string `json:"error"`
}

// Propose writes a checked proposal into a folder, which it makes if necessary.
func Propose(folder string, p Proposal) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return writeNew(filepath.Join(folder, ProposalFile), p)
}

// Open reads and checks the files in a folder. A fault in a member's file is not an error.
func Open(folder string) (*Founding, error) {
	f := &Founding{Folder: folder}
	path := filepath.Join(folder, ProposalFile)
	err := read(path, &f.Proposal)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w (spdl consortium new makes it; a member puts the founder's there)", err)
	}
	if err == nil {
		err = f.Proposal.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.Digest = f.Proposal.Digest()
	n := len(f.Proposal.Members)
	f.Shares, f.Proofs = make([]*Share, n), make([]*Proof, n)
	f.Entries = collect(f, KindEntry, f.checkEntry)
	f.Faults = append(f.Faults, f.sharedAddresses()...)
	if len(f.Missing(KindEntry)) > 0 {
		return f, nil
	}
	f.Shares = collect(f, KindShare, f.checkShare)
	if len(f.Missing(KindShare)) > 0 {
		return f, nil
	}
	f.Seed = f.seed()
	f.Proofs = collect(f, KindProof, f.checkProof)
	return f, nil
}

// collect reads the files of a kind, and notes the faults.
func collect[T any](f *Founding, kind Kind, check func(i int, v *T) error) []*T {
	all := make([]*T, len(f.Proposal.Members))
	for i, name := range f.Proposal.Members {
		v := new(T)
		err := read(f.Path(name, kind), v)
		if err == nil {
			err = check(i, v)
		}
		switch {
		case err == nil:
			all[i] = v
		case !errors.Is(err, os.ErrNotExist):
			f.Faults = append(f.Faults, Fault{name, filepath.Base(f.Path(name, kind)), err.Error()})
		}
	}
	return all
}

// Path returns the path of a member's file.
func (f *Founding) Path(name string, kind Kind) string {
	return filepath.Join(f.Folder, fmt.Sprintf("%s.%s.json", name, kind))
}

// Missing returns the members without a valid file of a kind.
func (f *Founding) Missing(kind Kind) (names []string) {
	for i, name := range f.Proposal.Members {
		there := map[Kind]bool{KindEntry: f.Entries[i] != nil, KindShare: f.Shares[i] != nil, KindProof: f.Proofs[i] != nil}
		if !there[kind] {
			names = append(names, name)
		}
	}
	return names
}

// Relays returns the relays of all entries, each once, in the order of the members.
func (f *Founding) Relays() (all []string) {
	for _, e := range f.Entries {
		for _, relay := range e.Relays {
			if !slices.Contains(all, relay) {
				all = append(all, relay)
			}
		}
	}
	return all
}

// entryDigests returns the digests of all entries.
func (f *Founding) entryDigests() (all []app.HexBytes) {
	for _, e := range f.Entries {
		all = append(all, e.digest(f.Proposal))
	}
	return all
}

// seed returns SHA-256 over the chain id and the VRF outputs of all shares.
func (f *Founding) seed() app.HexBytes {
	h := sha256.New()
	h.Write(leader.Prefix("spdl/founding-seed/v1", f.Proposal.ChainID))
	h.Write(f.Digest)
	for _, s := range f.Shares {
		out, _ := leader.OutputOf(s.VrfProof) // the share's proof was verified when the file was read
		h.Write(out[:])
	}
	return h.Sum(nil)
}

// read decodes a file of the folder.
func read(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	if err := strictjson.Decode(data, into); err != nil {
		return fmt.Errorf("%w: the file is cut off or damaged, or of another release of spdl: ask its author to send it "+
			"again", err)
	}
	return nil
}

// writeNew writes a value as JSON to a file that must not exist.
func writeNew(path string, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return newfile.Write(path, data)
}

// replaceFile writes a value as JSON to a file, in place of one that is there.
func replaceFile(path string, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return tempfile.WriteFileAtomic(path, data, 0o644)
}

func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// Relays returns the relays in a list separated by commas, each as ID@host:port. Its error names
// the first relay that has another form.
func Relays(list string) ([]string, error) {
	if err := admission.CheckRelays(list); err != nil {
		return nil, err
	}
	return admission.SplitList(list), nil
}
