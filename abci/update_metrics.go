package abci

import (
	"errors"
	"fmt"
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
		m.Set("round_opened_timestamp_seconds", float64(a.options.Now().UnixMilli())/1000)
	}
	if before != nil && before.Hash() == s.Hash() {
		m.Set("height", float64(s.Height))
		return
	}
	plan, _ := s.Plan() // without one its height is 0
	gauges := map[string]float64{"height": float64(s.Height), "epoch": float64(s.Progress.Epoch),
		"round": float64(s.Progress.Round), "rounds_planned": float64(s.Params.Training.Rounds),
		"finished": map[bool]float64{true: 1}[s.Finished()], "participants": float64(s.Active()),
		"participants_resting": 0, "byzantine": float64(s.F()), "offences": float64(len(s.Offences)),
		"proposals_open": float64(len(s.Proposals)), "upgrade_height": float64(plan.Height),
		"epsilon_budget": s.Params.Privacy.Epsilon}
	var standings []metrics.Standing
	for i := range s.Participants {
		p := &s.Participants[i]
		if !p.Active {
			continue
		}
		if s.IsResting(p.Index) {
			gauges["participants_resting"]++
		}
		st := metrics.Standing{Participant: p.Index, Reputation: float64(p.Reputation) / params.One}
		if spend, err := query.SpendOf(s, p); err == nil {
			st.Epsilon, st.Left = spend.Epsilon, spend.Left
		}
		standings = append(standings, st)
	}
	m.State(gauges, standings)
	if own := s.HolderOf(a.options.OwnKey); own != nil {
		m.Set("participant_active", map[bool]float64{true: 1}[own.Active])
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
		m.Add("contributions_total", 1, fmt.Sprint(c.Participant), fmt.Sprint(c.Selected))
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
	a.options.Metrics.Add("rejected_total", 1, verb, fmt.Sprint(code), reason)
}
