package plan

import "time"

// envelopeBytes bounds a gradient without its vector (signature, VRF proof and header), and an
// aggregate without its entries. includedBytes bounds an aggregate's entry for one gradient.
// params.Params.RoundBytes uses the same two values. A plan assumes tolerance 0.
const (
	envelopeBytes = 512
	includedBytes = 48
)

// Traffic holds the bytes of transactions that every node stores, and the time of the rounds.
type Traffic struct {
	Gradient int64   `json:"gradient_bytes"`        // the bytes of one gradient's transaction
	Round    int64   `json:"round_bytes"`           // the bytes of N gradients and the aggregate
	Day      int64   `json:"day_bytes"`             // the bytes of one day, if rounds follow each other without a pause
	Total    int64   `json:"total_bytes"`           // the bytes of all rounds
	Seconds  float64 `json:"round_seconds"`         // the time of one round
	Duration float64 `json:"training_time_seconds"` // the time of all rounds
}

func (in Input) traffic(d int) Traffic {
	gradient := int64(d)*int64(in.Width) + envelopeBytes
	round := int64(in.Participants)*(gradient+includedBytes) + envelopeBytes
	return Traffic{Gradient: gradient, Round: round, Total: round * int64(in.Rounds)}
}

// inRounds returns t with the fields that depend on time: each round takes the given seconds, and
// rounds follow each other without a pause.
func (t Traffic) inRounds(seconds float64, rounds int) Traffic {
	t.Seconds, t.Duration = seconds, seconds*float64(rounds)
	t.Day = int64(float64(t.Round) * (24 * time.Hour).Seconds() / seconds)
	return t
}
