package query

import (
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/privacy/accountant"
)

// Spend is one participant in the answer to /privacy and /privacy/{p}: the cost of its gradients in
// closed rounds, by the ledger. It is computed for the answer and no part of consensus.
type Spend struct {
	Participant    uint32   `json:"participant"`
	Moniker        string   `json:"moniker"`
	Participations uint64   `json:"participations"` // in all epochs
	Epsilon        *float64 `json:"epsilon"`        // by the ledger; null if an epoch of the chain has no ledger
	Delta          float64  `json:"delta"`
	Budget         float64  `json:"budget"` // epsilon that may be spent
	Left           *uint64  `json:"left"`   // participations that the budget still pays for; null if Epsilon is
	// whether Epsilon is a guarantee: it is not null, and no epoch was a test chain's
	Guarantee bool `json:"guarantee"`
	// TrainerClips says that the guarantee also relies on clipping by the participants' own
	// programs, in this epoch or an earlier one.
	TrainerClips bool `json:"trainer_clips,omitempty"`
	// Unit is the unit of privacy, empty for an example.
	Unit string `json:"unit,omitempty"`
	// Lemma1Epsilon is the epsilon that the paper's Lemma 1 claims for all rounds, if the noise
	// follows it: never a guarantee, whatever Guarantee says of Epsilon.
	Lemma1Epsilon float64 `json:"lemma1_epsilon,omitempty"`
}

// SpendOf returns what a participant has spent.
func SpendOf(s *app.State, p *app.Participant) (Spend, error) {
	priv := s.Params.Privacy
	out := Spend{
		Participant: p.Index, Moniker: p.Moniker, Participations: p.Participations, Delta: priv.Delta, Budget: priv.Epsilon,
		Unit: priv.Unit, Lemma1Epsilon: priv.Lemma1Epsilon,
	}
	if !app.Accounted(s.Params, s.Epochs) {
		return out, nil
	}
	out.TrainerClips = app.TrainerClips(s.Params, s.Epochs)
	out.Guarantee = !app.KnownNoise(s.Params, s.Epochs)
	epsilon, err := accountant.ChainEpsilon(p.Spent, priv.Delta)
	left := priv.Participations(p.Spent)
	out.Epsilon, out.Left = &epsilon, &left
	return out, err
}

// GreatestSpend returns the largest epsilon of any participant, nil if the ledger is
// incomplete.
func GreatestSpend(s *app.State) *float64 {
	if !app.Accounted(s.Params, s.Epochs) {
		return nil
	}
	ledgers := make([][]uint64, len(s.Participants))
	for i := range s.Participants {
		ledgers[i] = s.Participants[i].Spent
	}
	epsilon, err := accountant.GreatestEpsilon(ledgers, s.Params.Privacy.Delta)
	if err != nil || len(ledgers) == 0 {
		return nil
	}
	return &epsilon
}

func queryPrivacy(_ *Queries, s *app.State, arg string) (any, error) {
	if arg != "" {
		index, err := argument(arg)
		if err != nil {
			return nil, err
		}
		if index >= uint64(len(s.Participants)) {
			return nil, fmt.Errorf("%w: participant %d, %d are registered", ErrNotFound, index, len(s.Participants))
		}
		return SpendOf(s, &s.Participants[index])
	}
	return Spends(s)
}

// Spends returns what every registered participant has spent, by index.
func Spends(s *app.State) ([]Spend, error) {
	out := []Spend{}
	for i := range s.Participants {
		spend, err := SpendOf(s, &s.Participants[i])
		if err != nil {
			return nil, err
		}
		out = append(out, spend)
	}
	return out, nil
}

// MaxEpsilon returns [GreatestSpend] of a state, cached for the last one: computing it searches all
// participants' ledgers, and every poll of a node's status asks for it.
func (q *Queries) MaxEpsilon(s *app.State) *float64 {
	spend, _ := q.maxEpsilon.Get(s, func() (*float64, error) { return GreatestSpend(s), nil })
	return spend
}
