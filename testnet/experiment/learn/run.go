package learn

import (
	"context"
	"math"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/score"
	"github.com/spdl/spdl/testnet/sim"
)

// Columns name what Run measures after a round: the share of wrong predictions
// and the loss on the whole test set, the mean loss of the honest batches before
// the round, the smallest reputation of the honest and the largest of the
// attackers as shares of one (NaN where there is none), how many attackers the
// rule selected, and how many gradients the chain refused.
var Columns = []string{"round", "test_error", "test_loss", "batch_loss", "honest_reputation", "byzantine_reputation", "byzantine_selected", "refused"}

// Run trains to the last round and returns a row of Columns for each round that
// was evaluated.
func Run(ctx context.Context, spec Spec, data mnist.Data) ([][]float64, error) {
	participants, err := NewParticipants(spec, data.Train)
	if err != nil {
		return nil, err
	}
	test, err := score.New(data.Test, spec.Params.Model)
	if err != nil {
		return nil, err
	}
	chain, err := sim.NewSolo(spec.Config(participants))
	if err != nil {
		return nil, err
	}
	var rows [][]float64
	for t := uint64(0); t < spec.Params.Training.Rounds; t++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		closed, err := chain.Round()
		if err != nil {
			return nil, err
		}
		if last := t+1 == spec.Params.Training.Rounds; !last && (spec.Every == 0 || (t+1)%spec.Every != 0) {
			continue
		}
		wrong, loss := test.Score(chain.State().Model)
		row := []float64{float64(t + 1), wrong, loss, participants.loss, math.NaN(), math.NaN(), 0, float64(closed.Refused)}
		for i, p := range chain.State().Participants {
			r := float64(p.Reputation) / app.One
			if i < spec.Byzantine {
				row[5] = fmax(row[5], r)
			} else {
				row[4] = -fmax(-row[4], -r)
			}
		}
		for _, c := range closed.Record.Contributions {
			if c.Selected && int(c.Participant) < spec.Byzantine {
				row[6]++
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fmax is the larger number, of a NaN and a number the number.
func fmax(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// Config is the chain of a training, for sim.New and sim.NewSolo.
func (s Spec) Config(p *Participants) sim.Config {
	return sim.Config{Nodes: s.Nodes, Params: s.Params, Seed: s.Seed, Vector: p.Vector}
}

// Regrid sets the grid step that follows from the noise, after a change of it.
func Regrid(p *app.Params) { p.Grid.Step = worker.GridStep(p.Privacy) }

// Noiseless takes the prototype's noise out.
func Noiseless(p *app.Params) {
	p.Privacy.Mechanism, p.Privacy.PrototypeEpsilon = app.MechanismNone, 0
}
