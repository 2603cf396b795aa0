package pages

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// shownBytes is the max number of bytes of a transaction on a page.
const shownBytes = 1024

// txPage is a transaction in a block.
type txPage struct {
	txLine
	Height  int64
	Index   uint32
	At      time.Time       // of the block; zero if the node does not have it
	Round   *params.RoundID // that it is for
	Fields  []field
	Pair    *chainview.Statements
	Effect  *chainview.Open // of a proposal that waits, as far as it changes parameters or members
	Events  []abcitypes.Event
	Raw     string
	Cut     bool
	Content string // hash that the signature covers
}

// transaction shows a transaction.
func transaction(r *Request) Content {
	hash, err := hex.DecodeString(r.PathValue("hash"))
	if err != nil || len(hash) != 32 {
		r.Fail(fmt.Errorf("%w: a transaction's hash has 64 hexadecimal digits", ErrBad))
	}
	raw, height, index, result := r.Transaction(hash)
	b := txPage{txLine: lineOf(raw, &result, r.Participants()), Height: height, Index: index,
		Events: eventsOf(result.Events), At: r.TimeAt(uint64(height)),
		Raw: hex.EncodeToString(raw[:min(len(raw), shownBytes)]), Cut: len(raw) > shownBytes}
	if t, err := tx.Decode(raw); err == nil {
		b.Fields, b.Content = fieldsOf(t), hex.EncodeToString(t.Content[:])
		if at, ok := tx.PlaceOf(t); ok {
			b.Round = &params.RoundID{Epoch: at.Epoch, Round: at.Round}
		}
		b.Effect = r.effectOf(t)
		if body, ok := t.Body.(*tx.Evidence); ok {
			b.Pair = chainview.StatementsOf(body)
		}
	}
	return Content{"tx", "Transaction", b}
}

// effectOf returns the effect of a proposal that waits, nil for any other transaction.
func (r *Request) effectOf(t *tx.Tx) *chainview.Open {
	if t.Kind() != tx.KindStartEpoch && t.Kind() != tx.KindRemove {
		return nil
	}
	open := chainview.OpenProposals(chainview.Ask[query.Membership](r.Reader, "/membership"),
		chainview.Ask[params.Params](r.Reader, "/params"), nil)
	id := t.ID()
	i := slices.IndexFunc(open, func(p chainview.Open) bool { return p.ID == hex.EncodeToString(id[:]) })
	if i < 0 {
		return nil
	}
	return &open[i]
}

// field is a named part of a transaction, as text. Long is a hash, a key or the like.
type field struct {
	Name, Value string
	Long        bool
}

// fieldsOf returns the fields of a transaction as text, without its sender and its round.
func fieldsOf(t *tx.Tx) []field {
	var out []field
	add := func(name string, value any) {
		text := fmt.Sprint(value)
		_, err := hex.DecodeString(text)
		out = append(out, field{name, text, err == nil && len(text) >= 32})
	}
	switch b := t.Body.(type) {
	case *tx.Gradient:
		add("VRF proof", hex.EncodeToString(b.VrfProof))
	case *tx.Commit:
		add("Hash of the gradient", hex.EncodeToString(b.Hash))
		add("VRF proof", hex.EncodeToString(b.VrfProof))
	case *tx.Aggregate:
		add("Turn (view)", b.View)
		var in []uint32
		for _, x := range b.Included {
			in = append(in, x.Participant)
		}
		add("Included", listed(in))
		if len(b.Delta) > 0 {
			add("Delta", fmt.Sprintf("%d bytes", len(b.Delta)))
		} else {
			add("Digest of Delta", hex.EncodeToString(b.Digest))
			add("Delta", "not in the transaction: every node computes it and compares the digest")
		}
	default:
		d, err := app.Describe(t)
		if err != nil {
			add("Not described", err)
		}
		add("Summary", d.Summary)
		for _, a := range append(d.Attributes, d.Details...) {
			add(strings.ToUpper(a.Key[:1])+a.Key[1:], a.Value)
		}
	}
	if len(t.Signature) > 0 {
		add("Signature", hex.EncodeToString(t.Signature))
	}
	return out
}
