package plan

import "time"

// envelopeBytes bounds a gradient without its vector (signature, VRF proof and header), and an
// aggregate without its entries. includedBytes bounds an aggregate's entry for one gradient. They
// are the values with which params.Params.RoundBytes counts, here at tolerance 0.
const (
	envelopeBytes = 512
	includedBytes = 48
)

// Traffic is the size of the transactions of a round, which every node stores. A node receives them
// by gossip and again in the block.
type Traffic struct {
	Gradient int64   `json:"gradient_bytes"` // one transaction
	Round    int64   `json:"round_bytes"`    // N gradients and the aggregate
	Day      int64   `json:"day_bytes"`      // one round after the other, Seconds each
	Total    int64   `json:"total_bytes"`    // all rounds
	Seconds  float64 `json:"round_seconds"`
	Duration float64 `json:"training_time_seconds"` // all rounds
}

func (in Input) traffic(d int) Traffic {
	gradient := int64(d)*int64(in.Width) + envelopeBytes
	round := int64(in.Participants)*(gradient+includedBytes) + envelopeBytes
	return Traffic{Gradient: gradient, Round: round, Total: round * int64(in.Rounds)}
}

// at returns the traffic of rounds that take the given time, one after the other.
func (t Traffic) at(seconds float64, rounds int) Traffic {
	t.Seconds, t.Duration = seconds, seconds*float64(rounds)
	t.Day = int64(float64(t.Round) * (24 * time.Hour).Seconds() / seconds)
	return t
}
