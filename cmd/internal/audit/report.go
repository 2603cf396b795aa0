package audit

import (
	"fmt"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// Report holds the findings of a replay.
type Report struct {
	ChainID string `json:"chain_id"`
	First   uint64 `json:"first_height"`
	// the last executed height, which is also that of an app hash divergence
	Last         uint64        `json:"last_height"`
	Blocks       uint64        `json:"blocks"`
	Transactions uint64        `json:"transactions"`
	Signatures   uint64        `json:"validator_signatures"` // of commits, verified
	Rounds       uint64        `json:"rounds"`
	Epochs       uint64        `json:"epochs"` // begun
	Gradients    uint64        `json:"gradients"`
	AppHash      string        `json:"app_hash"`    // after Last
	ModelHash    string        `json:"model_hash"`  // after Last, as on the card of an exported model
	TipChecked   bool          `json:"tip_checked"` // the application hash after Last was known and compared
	BadLeaders   []BadLeader   `json:"bad_leaders"`
	Offences     []app.Offence `json:"offences"`
	Spend        []query.Spend `json:"spend"`
	Divergence   *Divergence   `json:"divergence"` // the first, null if there is none
	// OtherVersion is the height at which the replay ended because another release executes the
	// rest, omitted if there is none.
	OtherVersion *OtherVersion `json:"other_version,omitempty"`
	// Handover lets another release continue, nil unless the replay ended at an upgrade.
	Handover *Handover `json:"-"`

	ChainSeconds  float64 `json:"chain_seconds"` // from the time of the first block to that of the last
	ReplaySeconds float64 `json:"replay_seconds"`
	Ratio         float64 `json:"ratio"` // duration of the replay divided by ChainSeconds; 0 if the chain has no time span
}

// Short returns the reason why the replay ended before the end of the chain, nil if it did not.
func (r *Report) Short() error {
	switch {
	case r.Divergence != nil:
		return r.Divergence
	case r.OtherVersion != nil:
		return r.OtherVersion
	}
	return nil
}

// BadLeader is a leader that closed no round in its view: it was inactive, silent, or its aggregate was wrong.
type BadLeader struct {
	Epoch       uint64 `json:"epoch"`
	Round       uint64 `json:"round"`
	Height      uint64 `json:"height"` // at which the round was closed
	Participant uint32 `json:"participant"`
	View        uint32 `json:"view"`      // the leader's own
	ClosedBy    uint32 `json:"closed_by"` // the leader in a later view
}

// badLeaders returns the leaders ranked before the leader that closed the round.
func badLeaders(r *app.Record) []BadLeader {
	var out []BadLeader
	for view, p := range r.Ranking {
		if uint32(view) >= r.View {
			break
		}
		out = append(out, BadLeader{Epoch: r.Epoch, Round: r.Round, Height: r.Height, Participant: p, View: uint32(view),
			ClosedBy: r.Leader})
	}
	return out
}

// The kinds of divergence.
const (
	KindBlock     = "block"     // the block contradicts itself or the chain before it, or cannot be read
	KindCommit    = "commit"    // not the block that more than two thirds of the voting power signed
	KindExecution = "execution" // the state machine rejects the block
	KindAppHash   = "app hash"  // the next header states another application hash
)

// A Divergence is the first difference between the blocks and the replay.
type Divergence struct {
	Height       uint64           `json:"height"`
	Kind         string           `json:"kind"`
	Reason       string           `json:"reason"`
	Transactions []BadTransaction `json:"transactions,omitempty"` // at fault
	Expected     string           `json:"expected,omitempty"`     // application hash of the next header
	Found        string           `json:"found,omitempty"`        // of the replay
	// Parts are the values in which the node's own record or state differs from the replay's. Only a Witness gives them.
	Parts []Difference `json:"parts,omitempty"`
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("the chain diverges at height %d (%s): %s", d.Height, d.Kind, d.Reason)
}

// OtherVersion is the error of a chain that goes on with another version of the state machine than
// this program's. Height is the first such height. All heights before it agree, as does the
// application hash in the header of that height.
type OtherVersion struct {
	Height  uint64 `json:"height"`
	Version uint64 `json:"version"`
	Program uint64 `json:"program"` // the version that this program executes
}

func (o *OtherVersion) Error() string {
	return fmt.Sprintf("height %d and those after it are of state machine %d, this program executes %d: a replay "+
		"covers the heights of the program's own version", o.Height, o.Version, o.Program)
}

// Is reports whether target is app.ErrVersion.
func (o *OtherVersion) Is(target error) bool { return target == app.ErrVersion }

// A BadTransaction is a transaction of a block that is wrong without regard to the state.
type BadTransaction struct {
	Index       int     `json:"index"`
	Hash        string  `json:"hash"`
	Kind        string  `json:"kind"` // "undecodable" if it cannot be decoded
	Participant *uint32 `json:"participant,omitempty"`
	Reason      string  `json:"reason"`
}

// Difference is a value in which the node and the replay differ, as JSON.
type Difference struct {
	Key      string `json:"key"`
	Expected string `json:"expected"` // the node's
	Found    string `json:"found"`    // the replay's
}

// Progress is the state of a replay.
type Progress struct {
	Height  uint64
	Done    float64 // within [0, 1]
	Elapsed time.Duration
	Left    time.Duration // estimated; 0 until something has been read
}

// At returns the progress at a height, with the time left extrapolated from elapsed.
func At(height uint64, done float64, elapsed time.Duration) Progress {
	p := Progress{Height: height, Done: done, Elapsed: elapsed}
	if done > 0 {
		p.Left = time.Duration(float64(elapsed) * (1 - done) / done)
	}
	return p
}
