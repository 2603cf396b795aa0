package abci

import (
	"encoding/hex"
	"fmt"
	"strconv"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// The events. What one searches by is indexed; the figures are carried along,
// because every indexed attribute costs each node a key in its database.
//
//	round      epoch round leader view included; margin delta model     of the block: block_search
//	aggregate  epoch round leader view included                         of its transaction: tx_search
//	gradient   epoch round participant selected opposed; score reputation
func roundEvents(r *app.Record) []abcitypes.Event {
	if r == nil {
		return nil
	}
	return []abcitypes.Event{event("round",
		"epoch", number(r.Epoch), "round", number(r.Round), "leader", number(uint64(r.Leader)), "view", number(uint64(r.View)),
		"included", strconv.Itoa(len(r.Contributions)), "margin", strconv.FormatInt(r.Margin, 10),
		"delta", hex.EncodeToString(r.DeltaDigest), "model", hex.EncodeToString(r.ModelHash))}
}

// txResults gives one result a transaction: the aggregate's, then each
// gradient's in the record's order.
func txResults(txs []*tx.Tx, r *app.Record) []*abcitypes.ExecTxResult {
	if len(txs) == 0 {
		return nil
	}
	results := []*abcitypes.ExecTxResult{{Events: []abcitypes.Event{event("aggregate",
		"epoch", number(r.Epoch), "round", number(r.Round), "leader", number(uint64(r.Leader)), "view", number(uint64(r.View)),
		"included", strconv.Itoa(len(r.Contributions)))}}}
	for _, c := range r.Contributions {
		results = append(results, &abcitypes.ExecTxResult{Events: []abcitypes.Event{event("gradient",
			"epoch", number(r.Epoch), "round", number(r.Round), "participant", number(uint64(c.Participant)),
			"selected", strconv.FormatBool(c.Selected), "opposed", strconv.FormatBool(c.Opposed),
			"score", strconv.FormatInt(c.Score, 10), "reputation", strconv.FormatInt(c.Reputation, 10))}})
	}
	return results
}

// figures are the attributes that nobody searches by.
var figures = map[string]bool{"margin": true, "delta": true, "model": true, "score": true, "reputation": true}

func number(x uint64) string { return strconv.FormatUint(x, 10) }

func event(kind string, keyvals ...string) abcitypes.Event {
	if len(keyvals)%2 != 0 {
		panic(fmt.Sprintf("event %s: odd number of keys and values", kind))
	}
	e := abcitypes.Event{Type: kind, Attributes: make([]abcitypes.EventAttribute, 0, len(keyvals)/2)}
	for i := 0; i < len(keyvals); i += 2 {
		e.Attributes = append(e.Attributes, abcitypes.EventAttribute{Key: keyvals[i], Value: keyvals[i+1], Index: !figures[keyvals[i]]})
	}
	return e
}
