package audit

import (
	"encoding/hex"
	"fmt"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// kindEvidence is the kind of an entry for CometBFT's evidence against a validator.
const kindEvidence = "validator-evidence"

// entryOf returns what a transaction says without the state: its kind, its sender and its content.
func entryOf(t *tx.Tx) (Entry, error) {
	d, err := app.Describe(t)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Kind: t.Kind().String(), Summary: d.Summary, Proposal: d.Value("proposal"), Details: map[string]string{}}
	if d.Sent {
		e.Actor = &d.Participant
	}
	for _, a := range append(d.Attributes, d.Details...) {
		if a.Key != "proposal" && (a.Key != "participant" || !d.Sent) {
			e.Details[a.Key] = a.Value
		}
	}
	return e, nil
}

// carriedIn returns the entry of the join that an approval carries.
func carriedIn(t *tx.Tx) (Entry, error) {
	join, err := t.CarriedJoin()
	if err != nil {
		return Entry{}, fmt.Errorf("join that an approval carries: %w", err)
	}
	return entryOf(join)
}

// evidenceEntry returns what a piece of CometBFT's evidence says without the state.
func evidenceEntry(ev types.Evidence) (Entry, error) {
	p, err := types.EvidenceToProto(ev)
	if err != nil {
		return Entry{}, err
	}
	raw, err := p.Marshal()
	e := Entry{Kind: kindEvidence, Summary: fmt.Sprintf("evidence about height %d", ev.Height()), Raw: raw,
		Hash: hex.EncodeToString(ev.Hash()), Details: map[string]string{"of height": fmt.Sprint(ev.Height())}}
	switch ev := ev.(type) {
	case *types.DuplicateVoteEvidence:
		e.Summary = fmt.Sprintf("two votes of one validator at height %d", ev.Height())
		e.Details["validator"] = ev.VoteA.ValidatorAddress.String()
	case *types.LightClientAttackEvidence:
		e.Summary = fmt.Sprintf("a forged header of height %d", ev.Height())
		for i, v := range ev.ByzantineValidators {
			e.Details[fmt.Sprintf("validator %d", i)] = v.Address.String()
		}
	}
	return e, err
}

// decodeEvidence decodes the raw bytes of an entry for evidence.
func decodeEvidence(raw []byte) (types.Evidence, error) {
	var p cmtproto.Evidence
	if err := p.Unmarshal(raw); err != nil {
		return nil, err
	}
	return types.EvidenceFromProto(&p)
}
