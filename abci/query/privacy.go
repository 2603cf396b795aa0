package query

import (
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/privacy/accountant"
)

// Spend is one participant's entry in the answers to /privacy and /privacy/{p}: the privacy cost of
// the participant's gradients in closed rounds, as the chain's ledger counts it.
type Spend struct {
	Participant    uint32   `json:"participant"`
	Moniker        string   `json:"moniker"`
	Participations uint64   `json:"participations"` // the number of its gradients in closed rounds, in all epochs
	Epsilon        *float64 `json:"epsilon"`        // null if an epoch of the chain has no ledger
	Delta          float64  `json:"delta"`
	Budget         float64  `json:"budget"` // the epsilon that the participant may spend
	Left           *uint64  `json:"left"`   // the participations that the budget still pays for; null if Epsilon is null
	// Guarantee is true if Epsilon is a guarantee: Epsilon is not null, and no epoch had the parameters of a test chain.
	Guarantee bool `json:"guarantee"`
	// TrainerClips is true if the guarantee also depends on clipping by the participants' own
	// programs, in the running epoch or in an ended epoch.
	TrainerClips bool `json:"trainer_clips,omitempty"`
	// Unit is the unit of privacy, empty if the unit is one example.
	Unit string `json:"unit,omitempty"`
	// Lemma1Epsilon is the epsilon that the paper's Lemma 1 claims for all rounds, if the noise
	// follows the lemma. It is never a guarantee, even if Guarantee is true for Epsilon.
	Lemma1Epsilon float64 `json:"lemma1_epsilon,omitempty"`
}

// SpendOf returns the spend of a participant. Epsilon and Left are nil if an epoch has no ledger.
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

// GreatestSpend returns the largest epsilon that any participant has spent, nil if the ledger is incomplete.
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
	if arg == "" {
		return Spends(s)
	}
	p, err := registered(s, arg)
	if err != nil {
		return nil, err
	}
	return SpendOf(s, p)
}

// Spends returns the spend of every registered participant, by index.
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

// MaxEpsilon returns [GreatestSpend] of a state. It caches the last result, because every poll of a
// node's status needs the value, and GreatestSpend searches the ledgers of all participants.
func (q *Queries) MaxEpsilon(s *app.State) *float64 {
	spend, _ := q.maxEpsilon.Get(s, func() (*float64, error) { return GreatestSpend(s), nil })
	return spend
}
