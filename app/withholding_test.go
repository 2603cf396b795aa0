package app_test

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// withholders are f participants with validators that are adjacent in the rotation of proposers.
// They propose no aggregate of other leaders, and close every round that they can. In a share of
// the rounds that an honest leader leads they show their gradients only to each other. With a
// larger share they would soon be inactive, and in no ranking.
type withholders struct {
	n, f int
	rng  *rand.Rand
}

const withheldShare = 0.35

var withheldRounds = flag.Int("withheld", 0, "rounds of TestWithholdingPassesNobodyOver, default by the stage")

func (w withholders) byzantine(i uint32) bool { return int(i) < w.f }

// round plays the open round and returns the outcome that closed it.
func (w withholders) round(t *testing.T, s *app.State) *app.Outcome {
	t.Helper()
	all, shown := apptest.Gradients(s, apptest.Indices(w.n)...), 0
	if !w.byzantine(s.Progress.Ranking[0]) && w.rng.Float64() < withheldShare {
		shown = w.f
	}
	for {
		height := s.Height + 1
		proposer := uint32(height) % uint32(w.n)
		pending := slices.Clone(all)
		for i := range uint32(w.n) {
			switch {
			case w.byzantine(i):
				pending = append(pending, w.leads(s, height, i, all)...)
			case !w.byzantine(proposer):
				pending = append(pending, w.leads(s, height, i, all[shown:])...)
			}
		}
		out, err := s.Execute(app.Block{Height: height, Txs: s.Assemble(height, pending, 0)})
		require.NoError(t, err)
		if out.Record != nil {
			return out
		}
		s = out.State
	}
}

// leads returns the aggregate of a leader over the given gradients, if it may close the round.
func (w withholders) leads(s *app.State, height uint64, i uint32, with []*tx.Tx) []*tx.Tx {
	a, err := s.DraftAggregate(height, i, with)
	if err != nil {
		return nil
	}
	return []*tx.Tx{apptest.Sign(int(i), a)}
}

// TestWithholdingPassesNobodyOver: f participants that withhold their gradients cannot let the view
// of an honest leader pass, and lead no more rounds than their share.
func TestWithholdingPassesNobodyOver(t *testing.T) {
	rounds := cmp.Or(*withheldRounds, stage.Pick(50, 200, 4000))
	for _, n := range []int{4, 7, 10} {
		w := withholders{n, (n - 1) / 3, rand.New(rand.NewPCG(1, uint64(n)))}
		s := apptest.State(n, func(p *params.Params) {
			preset.SetProposers(&p.Election, w.f)
			p.Reputation.PassedOver, p.Training.Rounds, p.Rule.Name = 100_000, uint64(rounds), "mean"
		})
		passed, led := 0, 0
		for range rounds {
			out := w.round(t, s)
			for _, leader := range out.Record.Ranking[:out.Record.View] {
				if !w.byzantine(leader) {
					passed++
				}
			}
			if w.byzantine(out.Record.Leader) {
				led++
			}
			s = out.State
		}
		t.Logf("N=%d: %d of %d rounds passed an honest leader over, Byzantine led %.1f %%, fair are %.1f %%",
			n, passed, rounds, 100*float64(led)/float64(rounds), 100*float64(w.f)/float64(n))
		require.Zero(t, passed, "N=%d", n)
		if rounds >= 4000 {
			require.LessOrEqual(t, float64(led)/float64(rounds), float64(w.f)/float64(n)+0.02, "N=%d", n)
		}
	}
}
