package proof

// Bundle proves the model after one closed round. It holds the round's record, which has the hash of the model, and the
// values that a reader needs to interpret the record. All values are proven for one state.
type Bundle struct {
	Round        Proven `json:"round"`        // the round's record
	Progress     Proven `json:"progress"`     // the progress, which names the running epoch
	Params       Proven `json:"params"`       // the parameters of the running epoch
	Epochs       Proven `json:"epochs"`       // the ended epochs
	Participants Proven `json:"participants"` // all participants
}
