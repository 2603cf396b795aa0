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
		"epoch", number(r.Epoch), "round", number(r.Round), "leader", number(uint64(r.Leader)), "view",
		number(uint64(r.View)),
		"included", strconv.Itoa(len(r.Contributions)), "margin", strconv.FormatInt(r.Margin, 10),
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
		participants = append(participants, number(uint64(c.Participant)))
	}
	return []abcitypes.Event{event("reveal", "epoch", number(at.Epoch), "round", number(at.Round),
		"committed", strconv.Itoa(len(at.Commitments)), "participants", strings.Join(participants, ","))}
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
			"epoch", number(r.Epoch), "round", number(r.Round), "leader", number(uint64(r.Leader)), "view",
			number(uint64(r.View)),
			"included", strconv.Itoa(len(r.Contributions))))
		for _, c := range r.Contributions {
			add(event("gradient",
				"epoch", number(r.Epoch), "round", number(r.Round), "participant", number(uint64(c.Participant)),
				"selected", strconv.FormatBool(c.Selected), "opposed", strconv.FormatBool(c.Opposed),
				"score", strconv.FormatInt(c.Score, 10), "reputation", strconv.FormatInt(c.Reputation, 10)))
		}
	}
	for _, t := range txs[len(results):] {
		if c := t.Commit; c != nil {
			add(event("commit", "epoch", number(c.Epoch), "round", number(c.Round), "participant",
				number(uint64(c.Participant))))
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
	var keyvals []string
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
			"kind", c.Kind.String(), "participant", number(uint64(c.Participant)), "proposal", hex.EncodeToString(c.Proposal),
			"refused", refused))
	}
	return events
}

// discardEvents returns an event for each proposal that was withdrawn or has expired in the block.
func discardEvents(discarded []app.Discard) []abcitypes.Event {
	var events []abcitypes.Event
	for _, d := range discarded {
		events = append(events, event("discard", "kind", d.Kind.String(), "proposal", hex.EncodeToString(d.Proposal),
			"cause", d.Cause()))
	}
	return events
}

// figures holds the names of the attributes that are not indexed.
var figures = map[string]bool{"margin": true, "delta": true, "model": true, "score": true, "reputation": true,
	"refused": true, "epsilon": true, "participants": true}

func number(x uint64) string { return strconv.FormatUint(x, 10) }

func event(kind string, keyvals ...string) abcitypes.Event {
	if len(keyvals)%2 != 0 {
		panic(fmt.Sprintf("event %s: odd number of keys and values", kind))
	}
	e := abcitypes.Event{Type: kind, Attributes: make([]abcitypes.EventAttribute, 0, len(keyvals)/2)}
	for i := 0; i < len(keyvals); i += 2 {
		e.Attributes = append(e.Attributes, abcitypes.EventAttribute{Key: keyvals[i], Value: keyvals[i+1],
			Index: !figures[keyvals[i]]})
	}
	return e
}
