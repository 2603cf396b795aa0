package proof

// Bundle proves the model after a round: it holds the round's record, which names the model by its
// hash, and the values that a reader needs to judge it, all proven for one state.
type Bundle struct {
	Round        Proven `json:"round"`        // its record
	Progress     Proven `json:"progress"`     // which epoch is running
	Params       Proven `json:"params"`       // of the running epoch
	Epochs       Proven `json:"epochs"`       // the ended epochs
	Participants Proven `json:"participants"` // all
}
