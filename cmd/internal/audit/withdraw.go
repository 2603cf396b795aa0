package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// Withdrawal says how much of a participant is in the chain's models, and what a restart without the participant costs.
type Withdrawal struct {
	ChainID     string  `json:"chain_id"`
	Participant uint32  `json:"participant"`
	Moniker     string  `json:"moniker"`
	Active      bool    `json:"active"`
	Left        *uint64 `json:"left_height"` // at which it left or was removed for good; null while it is active
	// First and Last are the first and last round with a gradient of the participant; null if there is none.
	First       *ModelPoint `json:"first_gradient"`
	Last        *ModelPoint `json:"last_gradient"`
	Gradients   uint64      `json:"gradients"`    // in closed rounds
	RoundsAfter uint64      `json:"rounds_after"` // closed since its last gradient
	// Clean is the last model without a gradient of the participant: the model after the round
	// before First, or the initial one of genesis.
	Clean ModelPoint `json:"last_model_without"`
	// Repeat is the number of closed rounds since Clean, which a restart trains again.
	Repeat uint64     `json:"rounds_to_repeat"`
	Others []Restart  `json:"others"`
	Now    ModelPoint `json:"model"` // the chain's last
}

// ModelPoint is a model with its place. Round counts from 0; Initial is the model of genesis.
type ModelPoint struct {
	Initial bool   `json:"initial,omitempty"`
	Epoch   uint64 `json:"epoch"`
	Round   uint64 `json:"round"`
	Height  uint64 `json:"height"`
	Hash    string `json:"model_hash"`
}

// Restart is the cost of a restart for an active participant, if it takes part in the repeated rounds as it did before.
type Restart struct {
	Participant uint32 `json:"participant"`
	Moniker     string `json:"moniker"`
	Rounds      uint64 `json:"rounds"` // that it would repeat
	// Spent is the epsilon of the participant now, and After that after the repeated rounds, which
	// add to it. Added is the difference. All are null if an epoch of the chain has no ledger.
	Spent  *float64 `json:"epsilon"`
	After  *float64 `json:"epsilon_after"`
	Added  *float64 `json:"epsilon_added"`
	Budget float64  `json:"budget"`
	Beyond bool     `json:"beyond_budget"` // the budget pays for fewer rounds
}

// ErrParticipant means that the chain never had a participant with that number.
var ErrParticipant = errors.New("no such participant")

// closed holds what a withdrawal needs of a closed round.
type closed struct {
	point    ModelPoint
	included []uint32
	privacy  params.Privacy
}

// RunWithdraw replays the chain of a source, and reports how much of a participant is in its models.
func RunWithdraw(ctx context.Context, src Source, o Options, participant uint32) (*Withdrawal, *Report, error) {
	var rounds []closed
	var initial, last *app.State
	var left *uint64
	o.Executed = func(b Executed) error {
		if initial == nil {
			initial = b.Before
		}
		last = b.State
		if r := b.Record; r != nil {
			c := closed{point: ModelPoint{Epoch: r.Epoch, Round: r.Round, Height: r.Height,
				Hash: hex.EncodeToString(r.ModelHash)}, privacy: b.Before.Params.Privacy}
			for _, in := range r.Contributions {
				c.included = append(c.included, in.Participant)
			}
			rounds = append(rounds, c)
		}
		switch active := activeIn(b.State, participant); {
		case active:
			left = nil
		case activeIn(b.Before, participant):
			left = &b.State.Height
		}
		return nil
	}
	report, err := Run(ctx, src, o)
	if err != nil {
		return nil, report, err
	}
	n := 0
	if last != nil {
		n = len(last.Participants)
	}
	if int(participant) >= n {
		return nil, report, fmt.Errorf("%w: %d, the chain has had %d, from 0 on", ErrParticipant, participant, n)
	}
	w, err := withdrawal(initial, last, rounds, participant)
	if err != nil {
		return nil, report, err
	}
	w.Left = left
	return w, report, nil
}

func activeIn(s *app.State, participant uint32) bool {
	return int(participant) < len(s.Participants) && s.Participants[participant].Active
}

// withdrawal returns the report from the closed rounds of a chain.
func withdrawal(initial, last *app.State, rounds []closed, participant uint32) (*Withdrawal, error) {
	p := last.Participants[participant]
	w := &Withdrawal{ChainID: last.ChainID, Participant: p.Index, Moniker: p.Moniker, Active: p.Active,
		Others: []Restart{}}
	hash := app.ModelHash(initial.Model)
	w.Clean = ModelPoint{Initial: true, Height: initial.Height, Hash: hex.EncodeToString(hash[:])}
	w.Now = w.Clean
	has := func(r closed) bool { return slices.Contains(r.included, participant) }
	first, newest := slices.IndexFunc(rounds, has), -1
	for i, r := range rounds {
		if w.Now = r.point; has(r) {
			newest = i
			w.Gradients++
		} else if newest < 0 {
			w.Clean = r.point
		}
	}
	repeated := rounds[len(rounds):]
	if first >= 0 {
		w.First, w.Last = &rounds[first].point, &rounds[newest].point
		repeated, w.RoundsAfter = rounds[first:], uint64(len(rounds)-1-newest)
	}
	w.Repeat = uint64(len(repeated))
	for i := range last.Participants {
		other := &last.Participants[i]
		if !other.Active || other.Index == participant {
			continue
		}
		again, err := restart(last, other, repeated)
		if err != nil {
			return nil, err
		}
		w.Others = append(w.Others, again)
	}
	return w, nil
}

// restart returns what repeating rounds costs a participant.
func restart(s *app.State, p *app.Participant, repeated []closed) (Restart, error) {
	priv := s.Params.Privacy
	out := Restart{Participant: p.Index, Moniker: p.Moniker, Budget: priv.Epsilon}
	paid := p.Spent
	for _, r := range repeated {
		if slices.Contains(r.included, p.Index) {
			out.Rounds++
			paid = r.privacy.Pay(paid)
		}
	}
	spent, err := query.SpendOf(s, p)
	if err != nil || spent.Epsilon == nil {
		return out, err
	}
	again := *p
	again.Spent = paid
	after, err := query.SpendOf(s, &again)
	if err != nil {
		return out, err
	}
	added := *after.Epsilon - *spent.Epsilon
	out.Spent, out.After, out.Added, out.Beyond = spent.Epsilon, after.Epsilon, &added, *after.Epsilon > priv.Epsilon
	return out, nil
}
