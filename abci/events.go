package abci

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// docs/API.md lists the events and their attributes. Attributes in figures are not indexed for searches, because each
// indexed attribute costs every node a key in its database. tx_search finds a transaction by its events, block_search a
// block. Every kind of operation has an event with the sender, the subject, and the id of the proposal.

// roundEvents returns the event of a closed round. r is nil if the block closed no round. epsilon
// is the largest epsilon that any participant has spent, nil if the privacy ledger is incomplete.
func roundEvents(r *app.Record, epsilon *float64) []abcitypes.Event {
	if r == nil {
		return nil
	}
	spend := "none" // an epoch of the chain has no privacy ledger
	if epsilon != nil {
		spend = strconv.FormatFloat(*epsilon, 'f', 6, 64)
	}
	return []abcitypes.Event{event("round",
		"epoch", r.Epoch, "round", r.Round, "leader", r.Leader, "view", r.View,
		"included", len(r.Contributions), "margin", r.Margin,
		"delta", hex.EncodeToString(r.DeltaDigest), "model", hex.EncodeToString(r.ModelHash), "epsilon", spend)}
}

// revealEvents returns the event of a block that ends the commit phase.
func revealEvents(out *app.Outcome) []abcitypes.Event {
	if !out.Revealing {
		return nil
	}
	at := out.State.Progress
	var participants []string
	for _, c := range at.Commitments {
		participants = append(participants, fmt.Sprint(c.Participant))
	}
	return []abcitypes.Event{event("reveal", "epoch", at.Epoch, "round", at.Round,
		"committed", len(at.Commitments), "participants", strings.Join(participants, ","))}
}

// TxResults returns one result for each transaction of a block, in the block's order. r is the
// record of the round that the block closed, or nil.
func TxResults(txs []*tx.Tx, r *app.Record) []*abcitypes.ExecTxResult {
	var results []*abcitypes.ExecTxResult
	add := func(e abcitypes.Event) {
		results = append(results, &abcitypes.ExecTxResult{Events: []abcitypes.Event{e}})
	}
	if r != nil {
		add(event("aggregate",
			"epoch", r.Epoch, "round", r.Round, "leader", r.Leader, "view", r.View,
			"included", len(r.Contributions)))
		for _, c := range r.Contributions {
			add(event("gradient",
				"epoch", r.Epoch, "round", r.Round, "participant", c.Participant,
				"selected", c.Selected, "opposed", c.Opposed, "score", c.Score, "reputation", c.Reputation))
		}
	}
	for _, t := range txs[len(results):] {
		if c := t.Commit; c != nil {
			add(event("commit", "epoch", c.Epoch, "round", c.Round, "participant", c.Participant))
			continue
		}
		add(operationEvent(t))
	}
	return results
}

// operationEvent returns the event of an operation, with the attributes of app.Describe.
func operationEvent(t *tx.Tx) abcitypes.Event {
	d, err := app.Describe(t)
	if err != nil {
		panic(err) // the operation was executed, so it is valid
	}
	var keyvals []any
	for _, a := range d.Attributes {
		keyvals = append(keyvals, a.Key, a.Value)
	}
	return event(t.Kind().String(), keyvals...)
}

// enactmentEvents returns an event for each accepted proposal that the block enacted or dropped.
func enactmentEvents(enacted []app.Enactment) []abcitypes.Event {
	var events []abcitypes.Event
	for _, c := range enacted {
		refused := ""
		if c.Refused != nil {
			refused = c.Refused.Error()
		}
		events = append(events, event("enactment",
			"kind", c.Kind, "participant", c.Participant, "proposal", hex.EncodeToString(c.Proposal),
			"refused", refused))
	}
	return events
}

// discardEvents returns an event for each proposal that was withdrawn or has expired in the block.
func discardEvents(discarded []app.Discard) []abcitypes.Event {
	var events []abcitypes.Event
	for _, d := range discarded {
		events = append(events, event("discard", "kind", d.Kind, "proposal", hex.EncodeToString(d.Proposal),
			"cause", d.Cause()))
	}
	return events
}

// figures holds the names of the attributes that are not indexed.
var figures = map[string]bool{"margin": true, "delta": true, "model": true, "score": true, "reputation": true,
	"refused": true, "epsilon": true, "participants": true}

// event returns an event with keys and values, which take turns. It panics if a key is no text or has no value.
func event(kind string, keyvals ...any) abcitypes.Event {
	e := abcitypes.Event{Type: kind, Attributes: make([]abcitypes.EventAttribute, 0, len(keyvals)/2)}
	for i := 0; i < len(keyvals); i += 2 {
		key := keyvals[i].(string)
		e.Attributes = append(e.Attributes, abcitypes.EventAttribute{Key: key, Value: fmt.Sprint(keyvals[i+1]),
			Index: !figures[key]})
	}
	return e
}
