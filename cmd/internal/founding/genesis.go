package founding

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/newfile"
)

// participants returns the participants of the entries, with the proofs that are there.
func (f *Founding) participants() (all []app.Participant) {
	for i, e := range f.Entries {
		p := app.NewParticipant(uint32(i), e.identity(), f.Proposal.Params.Reputation)
		if v := f.Proofs[i]; v != nil {
			p.VrfProof = v.VrfProof
		}
		all = append(all, p)
	}
	return all
}

// Check rejects entries from which no genesis can be made, before any member reveals a share. It
// needs all entries. The warnings name settings that weaken a guarantee.
func (f *Founding) Check() (warnings []string, err error) {
	g := app.Genesis{Params: f.Proposal.Params, Seed: make([]byte, 32), Participants: f.participants()}
	if warnings, err = g.Validate(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(g.Participants, func(p app.Participant) bool { return len(p.ConsensusKey) > 0 }) {
		return warnings, nil
	}
	return nil, errors.New("all participants are workers alone, and a chain needs a validator")
}

// Genesis returns the genesis file, fully checked. It needs all proofs.
func (f *Founding) Genesis() ([]byte, error) {
	var at time.Time
	for _, v := range f.Proofs {
		if v.Time.After(at) {
			at = v.Time
		}
	}
	g := app.Genesis{Params: f.Proposal.Params, Seed: f.Seed, Participants: f.participants()}
	doc, err := home.NewGenesis(f.Proposal.ChainID, at, g)
	if err != nil {
		return nil, err
	}
	if _, _, err = home.CheckGenesis(doc); err != nil {
		return nil, err
	}
	data, err := cmtjson.MarshalIndent(doc, "", "  ")
	return append(data, '\n'), err
}

// Install writes the genesis to a file. It replaces another genesis if begun, which describes what the
// home has done on its chain (home.StoredProgressIn), returns "".
func Install(path string, genesis []byte, begun func() (string, error)) error {
	there, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return newfile.Write(path, genesis)
	}
	if err != nil || string(there) == string(genesis) {
		return err
	}
	done, err := begun()
	if err != nil {
		return err
	}
	if done != "" {
		return fmt.Errorf("%s is another genesis, SHA-256 %x, that of the founding is %x, and %s: name a home of its own "+
			"for each chain", path, sha256.Sum256(there), sha256.Sum256(genesis), done)
	}
	return tempfile.WriteFileAtomic(path, genesis, 0o644)
}
