package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cometbft/cometbft/crypto/merkle"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// ErrLog wraps every reason why a log is not proven.
var ErrLog = errors.New("audit log is not proven")

// Log lists what was proposed, approved and done in a chain, apart from its rounds: every operation, and every piece of
// evidence, with the proof that the chain holds it. A replay makes the log, so the log of a whole chain is complete,
// and its results are those of the state machine. A reader who has only the file can prove that each entry is on the
// chain. Only another replay proves that no entry is missing, and what the results were.
type Log struct {
	ChainID  string    `json:"chain_id"`
	First    uint64    `json:"first_height"`
	Last     uint64    `json:"last_height"`
	Founders []Founder `json:"founders"` // from genesis
	Entries  []Entry   `json:"entries"`  // by height, and in the order of the block
	Headers  []Header  `json:"headers"`  // that the proofs lead to, and those that a light client needs in between
}

// Founder is a participant of genesis.
type Founder struct {
	Participant uint32 `json:"participant"`
	Moniker     string `json:"moniker"`
}

// The results of an entry.
const (
	Applied  = "applied"  // at once
	Waiting  = "waiting"  // for approvals
	Accepted = "accepted" // by more than two thirds, and not in force yet
	Enacted  = "enacted"  // at the round boundary of result_height
	Rejected = "rejected" // there: the state had changed since
	Dropped  = "dropped"  // it became impossible, or newer proposals took its place
)

// The results of a proposal that was not accepted also include the causes of app.Discard.

// Entry is an operation of a block, or a piece of evidence against a validator.
type Entry struct {
	Height   uint64            `json:"height"`
	Time     time.Time         `json:"time"`
	Kind     string            `json:"kind"`
	Actor    *uint32           `json:"actor"` // the participant that signed it; null for an outsider, and for evidence
	Moniker  string            `json:"moniker"`
	Summary  string            `json:"summary"`
	Details  map[string]string `json:"details,omitempty"`
	Proposal string            `json:"proposal,omitempty"` // the id of the one that this entry makes, approves or leaves

	// Approvals of a proposal, in their order, without those that were withdrawn. For most kinds, the
	// proposer's transaction counts as an approval.
	Approvals []Approval `json:"approvals,omitempty"`
	// AcceptedHeight is the height at which more than two thirds had approved the proposal, or 0.
	AcceptedHeight uint64 `json:"accepted_height,omitempty"`
	Result         string `json:"result"`
	ResultHeight   uint64 `json:"result_height"`
	Why            string `json:"why,omitempty"` // the reason of a rejection

	Hash string `json:"hash"` // of the transaction, or of the evidence
	// Raw is the transaction in base64. For a join that an approval carries, it is the approval.
	Raw   []byte       `json:"raw"`
	Proof merkle.Proof `json:"proof"` // from raw to the header's data hash, for evidence to its evidence hash
}

// Approval is a participant's approval of a proposal.
type Approval struct {
	Participant uint32    `json:"participant"`
	Moniker     string    `json:"moniker"`
	Height      uint64    `json:"height"`
	Time        time.Time `json:"time"`
	Hash        string    `json:"hash"` // of the transaction, which has an entry of its own
}

// Header is a signed header with its validators: CometBFT's LightBlock, in base64 of its protobuf form.
type Header struct {
	Height int64  `json:"height"`
	Light  []byte `json:"light_block"`
}

// maxLog bounds the size of a log's file, in bytes.
const maxLog = 1 << 30

// ReadLog reads a log in JSON.
func ReadLog(r io.Reader) (*Log, error) {
	in := json.NewDecoder(io.LimitReader(r, maxLog))
	in.DisallowUnknownFields()
	l := new(Log)
	if err := in.Decode(l); err != nil {
		return nil, fmt.Errorf("%w: it is no log as spdl audit log -o json writes it: %w", ErrLog, err)
	}
	return l, nil
}

// Blocks decodes the log's headers.
func (l *Log) Blocks() ([]*types.LightBlock, error) {
	out := make([]*types.LightBlock, len(l.Headers))
	for i, h := range l.Headers {
		var err error
		if out[i], err = modelfile.DecodeHeader(h.Light); err != nil {
			return nil, fmt.Errorf("%w: header of height %d: %w", ErrLog, h.Height, err)
		}
		if out[i].Height != h.Height {
			return nil, fmt.Errorf("%w: header of height %d is of %d", ErrLog, h.Height, out[i].Height)
		}
	}
	return out, nil
}
