package abci

import (
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// misbehaviors converts the misbehaviour in a CometBFT request to the core's type.
func misbehaviors(proven []abcitypes.Misbehavior) []app.Misbehavior {
	var out []app.Misbehavior
	for _, m := range proven {
		out = append(out, app.Misbehavior{Type: uint32(m.Type), Address: m.Validator.Address, Height: uint64(m.Height)})
	}
	return out
}

// MisbehaviorOf returns the misbehaviour that the evidence in a block proves. The block may come
// from an untrusted source: malformed evidence is an error.
func MisbehaviorOf(evidence types.EvidenceList) ([]app.Misbehavior, error) {
	for i, e := range evidence {
		if err := e.ValidateBasic(); err != nil {
			return nil, fmt.Errorf("evidence %d: %w", i, err)
		}
	}
	return misbehaviors(evidence.ToABCI()), nil
}

// offenceEvents returns an event for each offence that a block's evidence added to the state.
func offenceEvents(offences []app.Offence) []abcitypes.Event {
	var events []abcitypes.Event
	for _, o := range offences {
		events = append(events, event("offence",
			"participant", o.Participant, "of", o.Cause(), "height", o.Voted))
	}
	return events
}
