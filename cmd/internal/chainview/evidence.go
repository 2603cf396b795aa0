package chainview

import (
	"encoding/hex"
	"fmt"
	"strings"

	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// A Proof is the proof of an offence on the chain.
type Proof struct {
	Hash string      // of the transaction, "" if CometBFT proved the offence
	Pair *Statements // nil if the node does not have them
}

// Proof returns the proof of an offence on the chain. It caches what it finds.
func (r *Reader) Proof(o app.Offence) *Proof {
	key := fmt.Sprintf("%x/%d/%d", o.Evidence, o.Voted, o.Height)
	if known, ok := r.proofs.Cached(key); ok {
		return known
	}
	out := &Proof{}
	if o.Misbehavior != 0 {
		out.Pair = r.votesOf(o)
	} else {
		out.Hash, out.Pair = r.convicting(o)
	}
	if out.Pair != nil {
		r.proofs.Put(key, out)
	}
	return out
}

// convicting returns the transaction with a hash, which proved an offence, and the statements in it.
func (r *Reader) convicting(o app.Offence) (hash string, pair *Statements) {
	page, most := 1, 10
	found, err := r.rpc.TxSearch(r.Ctx, fmt.Sprintf("evidence.participant=%d AND tx.height=%d", o.Participant, o.Height),
		false, &page, &most, "")
	if err != nil {
		return "", nil
	}
	for _, x := range found.Txs {
		t, err := tx.Decode(x.Tx)
		if err != nil || string(t.Content[:]) != string(o.Evidence) {
			continue
		}
		if e, ok := t.Body.(*tx.Evidence); ok {
			return hex.EncodeToString(x.Hash), StatementsOf(e)
		}
	}
	return "", nil
}

// votesOf returns the two votes of a validator in the evidence of a block. It returns nil if the
// node does not have the block, or if the evidence is of another type.
func (r *Reader) votesOf(o app.Offence) *Statements {
	b := r.tryBlock(int64(o.Height))
	if b == nil {
		return nil
	}
	for _, e := range b.Evidence.Evidence {
		d, ok := e.(*cmttypes.DuplicateVoteEvidence)
		if ok && d.VoteA.ValidatorAddress.String() == AddressOf(o.Evidence) && d.Height() == int64(o.Voted) {
			a, b := d.VoteA, d.VoteB
			return &Statements{Both: fmt.Sprintf("Both are a %s of the validator for height %d, CometBFT's round %d",
				strings.ToLower(strings.TrimPrefix(a.Type.String(), "SIGNED_MSG_TYPE_")), a.Height, a.Round),
				Rows: []StatementRow{{"Block", a.BlockID.Hash.String(), b.BlockID.Hash.String()},
					{"Signature", hex.EncodeToString(a.Signature), hex.EncodeToString(b.Signature)}}}
		}
	}
	return nil
}

// Statements are the two statements in a piece of evidence. One participant, or its validator,
// signed both for the same place.
type Statements struct {
	Both string // what both say
	Rows []StatementRow
}

// A StatementRow is a field of both statements.
type StatementRow struct {
	Name, First, Second string
}

// Differ reports whether the statements differ in the row.
func (r StatementRow) Differ() bool { return r.First != r.Second }

// StatementsOf returns the statements of evidence, nil if they do not decode.
func StatementsOf(e *tx.Evidence) *Statements {
	at, err := e.Conflict()
	if err != nil {
		return nil
	}
	out := &Statements{Both: fmt.Sprintf("Both are a %s of participant #%d for round %d of epoch %d", at.Kind,
		at.Participant, at.Round, at.Epoch)}
	add := func(name string, first, second []byte) {
		out.Rows = append(out.Rows, StatementRow{name, hex.EncodeToString(first), hex.EncodeToString(second)})
	}
	decoded := func(kind tx.Kind, first, second interface{ Unmarshal([]byte) error }) bool {
		return at.Kind == kind && first.Unmarshal(e.First) == nil && second.Unmarshal(e.Second) == nil
	}
	var gradients [2]tx.GradientHeader
	var aggregates [2]tx.AggregateHeader
	var commits [2]tx.Commit
	switch {
	case decoded(tx.KindGradient, &gradients[0], &gradients[1]):
		add("Hash of the gradient", gradients[0].PayloadHash, gradients[1].PayloadHash)
		add("VRF proof", gradients[0].VrfProof, gradients[1].VrfProof)
	case decoded(tx.KindAggregate, &aggregates[0], &aggregates[1]):
		add("Hash of the aggregate", aggregates[0].ContentHash, aggregates[1].ContentHash)
	case decoded(tx.KindCommit, &commits[0], &commits[1]):
		add("Hash of the gradient", commits[0].Hash, commits[1].Hash)
	default:
		return nil
	}
	add("Signature", e.FirstSignature, e.SecondSignature)
	return out
}
