package explorer

import (
	"encoding/hex"
	"fmt"
	"strings"

	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app/tx"
)

// statements are the two statements in a piece of evidence. One participant, or its validator,
// signed both for the same place.
type statements struct {
	Both string // what both say
	Rows []statementRow
}

// A statementRow is a field of both statements.
type statementRow struct {
	Name, First, Second string
}

// Differ reports whether the statements differ in the row.
func (r statementRow) Differ() bool { return r.First != r.Second }

// statementsOf returns the statements of evidence, nil if they do not decode.
func statementsOf(e *tx.Evidence) *statements {
	at, err := e.Conflict()
	if err != nil {
		return nil
	}
	out := &statements{Both: fmt.Sprintf("Both are a %s of participant #%d for round %d of epoch %d", at.Kind,
		at.Participant, at.Round, at.Epoch)}
	add := func(name string, first, second []byte) {
		out.Rows = append(out.Rows, statementRow{name, hex.EncodeToString(first), hex.EncodeToString(second)})
	}
	switch at.Kind {
	case tx.KindGradient:
		var a, b tx.GradientHeader
		if a.Unmarshal(e.First) != nil || b.Unmarshal(e.Second) != nil {
			return nil
		}
		add("Hash of the gradient", a.PayloadHash, b.PayloadHash)
		add("VRF proof", a.VrfProof, b.VrfProof)
	case tx.KindAggregate:
		var a, b tx.AggregateHeader
		if a.Unmarshal(e.First) != nil || b.Unmarshal(e.Second) != nil {
			return nil
		}
		add("Hash of the aggregate", a.ContentHash, b.ContentHash)
	case tx.KindCommit:
		var a, b tx.Commit
		if a.Unmarshal(e.First) != nil || b.Unmarshal(e.Second) != nil {
			return nil
		}
		add("Hash of the gradient", a.Hash, b.Hash)
	default: // Conflict knows no other kind
	}
	add("Signature", e.FirstSignature, e.SecondSignature)
	return out
}

// statementsOfVotes returns two votes of one validator as statements.
func statementsOfVotes(e *cmttypes.DuplicateVoteEvidence) *statements {
	a, b := e.VoteA, e.VoteB
	return &statements{Both: fmt.Sprintf("Both are a %s of the validator for height %d, CometBFT's round %d",
		strings.ToLower(strings.TrimPrefix(a.Type.String(), "SIGNED_MSG_TYPE_")), a.Height, a.Round),
		Rows: []statementRow{{"Block", a.BlockID.Hash.String(), b.BlockID.Hash.String()},
			{"Signature", hex.EncodeToString(a.Signature), hex.EncodeToString(b.Signature)}}}
}
