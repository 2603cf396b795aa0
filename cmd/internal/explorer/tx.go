package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// txLine is a transaction in a list.
type txLine struct {
	Hash, Kind string
	Bytes      int
	Code       uint32
	Log        string
	Sender     *uint32
	Who        *app.Participant // the sender, nil if it is unknown
}

// lineOf returns a transaction as a line of a list. Its result is nil if the node keeps none.
func lineOf(raw cmttypes.Tx, result *abcitypes.ExecTxResult) txLine {
	l := txLine{Hash: hex.EncodeToString(raw.Hash()), Kind: "undecodable", Bytes: len(raw)}
	if t, err := tx.Decode(raw); err == nil {
		l.Kind, l.Sender = t.Kind().String(), sender(t)
	}
	if result != nil {
		l.Code, l.Log = result.Code, short(result.Log, 300)
	}
	return l
}

// sender returns the participant that sent a transaction, if any.
func sender(t *tx.Tx) *uint32 {
	if place, ok := tx.PlaceOf(t); ok {
		return &place.Participant
	}
	if d, err := app.Describe(t); err == nil && d.Sent {
		return &d.Participant
	}
	return nil
}

// whoOf returns the participant of an index, nil if there is none.
func whoOf(people []app.Participant, index *uint32) *app.Participant {
	if index == nil || int64(*index) >= int64(len(people)) {
		return nil
	}
	return &people[*index]
}

// eventLine is an event as pages show it.
type eventLine struct {
	Type       string
	Attributes []abcitypes.EventAttribute
}

// eventsOf returns the first events of a block or a transaction, with long values cut.
func eventsOf(events []abcitypes.Event) []eventLine {
	var out []eventLine
	for _, e := range events[:min(len(events), 200)] {
		l := eventLine{Type: e.Type}
		for _, a := range e.Attributes {
			a.Value = short(a.Value, 300)
			l.Attributes = append(l.Attributes, a)
		}
		out = append(out, l)
	}
	return out
}

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
	Pair    *statements
	Effect  *openProposal // of a proposal that waits, as far as it changes parameters or members
	Events  []eventLine
	Raw     string
	Cut     bool
	Content string // hash that the signature covers
}

// tx shows a transaction.
func (s *Server) tx(r *http.Request) (content, error) {
	hash, err := hex.DecodeString(r.PathValue("hash"))
	if err != nil || len(hash) != 32 {
		return content{}, fmt.Errorf("%w: a transaction's hash has 64 hexadecimal digits", errBad)
	}
	got, err := s.source.blocks.Tx(r.Context(), hash, false)
	if err != nil {
		return content{}, err
	}
	b := txPage{txLine: lineOf(got.Tx, &got.TxResult), Height: got.Height, Index: got.Index,
		Events: eventsOf(got.TxResult.Events), At: s.source.times(r.Context(), uint64(got.Height),
			uint64(got.Height))[uint64(got.Height)]}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	b.Who = whoOf(people, b.Sender)
	b.Raw, b.Cut = hex.EncodeToString(got.Tx[:min(len(got.Tx), shownBytes)]), len(got.Tx) > shownBytes
	if t, err := tx.Decode(got.Tx); err == nil {
		b.Fields, b.Content = fieldsOf(t), hex.EncodeToString(t.Content[:])
		if len(t.Signature) > 0 {
			b.Fields = append(b.Fields, field{"Signature", hex.EncodeToString(t.Signature), true})
		}
		if at, ok := tx.PlaceOf(t); ok {
			b.Round = &params.RoundID{Epoch: at.Epoch, Round: at.Round}
		}
		if b.Effect, err = s.effectOf(r.Context(), t); err != nil {
			return content{}, err
		}
		if body, ok := t.Body.(*tx.Evidence); ok {
			b.Pair = statementsOf(body)
		}
	}
	return content{"tx", "Transaction", b}, nil
}

// effectOf returns the effect of a proposal that waits, nil for any other transaction.
func (s *Server) effectOf(ctx context.Context, t *tx.Tx) (*openProposal, error) {
	if t.Kind() != tx.KindStartEpoch && t.Kind() != tx.KindRemove {
		return nil, nil
	}
	open, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	id := t.ID()
	for i := range open {
		if open[i].ID == hex.EncodeToString(id[:]) {
			return &open[i], nil
		}
	}
	return nil, nil
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
	return out
}
