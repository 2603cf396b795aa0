package abci

import (
	"errors"
	"slices"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// measure updates the metrics after a commit. If the state is unchanged, it updates only the pool and the height.
func (a *Application) measure(before, s *app.State) {
	m := a.options.Metrics
	if m == nil {
		return
	}
	m.Pool(a.pool.Load().Size())
	if before == nil || before.Progress.Epoch != s.Progress.Epoch || before.Progress.Round != s.Progress.Round {
		m.RecordRoundOpening(a.options.Now())
	}
	if before != nil && before.Hash() == s.Hash() {
		m.SetHeight(s.Height)
		return
	}
	c := metrics.Chain{
		Height: s.Height, Epoch: s.Progress.Epoch, Round: s.Progress.Round, Planned: s.Params.Training.Rounds,
		Finished:     s.Finished(),
		Participants: s.Active(), Byzantine: s.F(), Offences: len(s.Offences), Proposals: len(s.Proposals),
		Budget: s.Params.Privacy.Epsilon,
	}
	if plan, ok := s.Plan(); ok {
		c.Upgrade = plan.Height
	}
	for i := range s.Participants {
		p := &s.Participants[i]
		if !p.Active {
			continue
		}
		if s.IsResting(p.Index) {
			c.Resting++
		}
		st := metrics.Standing{Participant: p.Index, Reputation: float64(p.Reputation) / params.One}
		if spend, err := query.SpendOf(s, p); err == nil {
			st.Epsilon, st.Left = spend.Epsilon, spend.Left
		}
		c.Standings = append(c.Standings, st)
	}
	m.State(c)
	if own := s.HolderOf(a.options.OwnKey); own != nil {
		m.SetActive(own.Active)
	}
}

// measureRound updates the metrics with a closed round.
func (a *Application) measureRound(r *app.Record) {
	m := a.options.Metrics
	if m == nil {
		return
	}
	t, _ := a.timings.Get(r.Epoch, r.Round)
	m.RecordRoundClosing(int(r.View), len(r.Contributions), t.LGC, t.GE, t.BC)
	weights := map[uint32]float64{}
	for _, c := range r.Contributions {
		m.CountContribution(c.Participant, c.Selected)
		if query.Weighs(r.Rule) {
			weights[c.Participant] = *query.WeightOf(r, c)
		}
	}
	m.Weigh(weights)
	if own := a.state.Load().HolderOf(a.options.OwnKey); own != nil {
		m.OwnRound(slices.ContainsFunc(r.Contributions, func(c app.Contribution) bool { return c.Participant == own.Index }))
	}
}

// countRejection counts a rejection by the error's result code and the name of the code. A rule on
// whole blocks has no result code of its own; for such an error the reason is "block".
func (a *Application) countRejection(verb string, err error) {
	code := Code(err)
	reason := CodeName(code)
	rules := []error{app.ErrOrder, app.ErrMismatch, app.ErrHeight, app.ErrTooMany, app.ErrCommitPhase, app.ErrCommits}
	if code == CodeInternal && slices.ContainsFunc(rules, func(rule error) bool { return errors.Is(err, rule) }) {
		reason = "block"
	}
	a.options.Metrics.CountRejection(verb, code, reason)
}
