package founding

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
)

// Proposal is what the founder proposes to the members.
type Proposal struct {
	ChainID    string        `json:"chain_id"`
	AppVersion uint64        `json:"app_version"`        // of the state machine that all members run
	Members    []string      `json:"members"`            // their names, in the order of their indices
	Deadline   *time.Time    `json:"deadline,omitempty"` // by when the files should be there
	Params     params.Params `json:"params"`
}

// memberName matches the names of members. A name is a part of file names, so it has few characters.
var memberName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Check rejects a proposal from which no genesis can be made.
func (p Proposal) Check() error {
	if p.AppVersion != app.Version {
		return fmt.Errorf("%w: the proposal is for state machine %d, this program has %d: take the release that the founder "+
			"has", app.ErrVersion, p.AppVersion, app.Version)
	}
	for i, name := range p.Members {
		switch {
		case len(name) > app.MaxMoniker || !memberName.MatchString(name):
			return fmt.Errorf("member %q: want 1 to %d letters, digits, - and _, and a letter or digit first", name,
				app.MaxMoniker)
		case slices.Contains(p.Members[:i], name):
			return fmt.Errorf("member %q is named twice", name)
		}
	}
	if err := home.CheckChainID(p.ChainID); err != nil {
		return fmt.Errorf("the proposal's chain_id: %w", err)
	}
	if _, err := p.Params.Validate(len(p.Members)); err != nil {
		return fmt.Errorf("params for %d members: %w", len(p.Members), err)
	}
	return nil
}

// Digest returns the hash that names a proposal. The members' entries hold it, so they are valid
// only for this proposal.
func (p Proposal) Digest() app.HexBytes { return p.digest("spdl/founding-proposal/v1", p) }

// digest returns SHA-256 over a domain, the chain and the JSON of a value.
func (p Proposal) digest(domain string, v any) app.HexBytes {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values that were decoded from JSON, or checked
	}
	sum := sha256.Sum256(append(leader.Prefix(domain, p.ChainID), data...))
	return sum[:]
}
