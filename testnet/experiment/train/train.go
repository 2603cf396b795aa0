package train

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/sim"
)

// Columns names the quantities that Run measures after a round: the share of wrong predictions and the loss on the
// whole test set; the mean loss of the honest batches before the round; the smallest reputation of the honest and the
// largest of the attackers, as shares of one; and, since the previous row, the number of attackers' gradients that the
// rule selected and of gradients that the chain rejected. NaN stands for no value. Two columns have a value only after
// the last round: backdoor is the share of the test images of other classes that the trigger moves to its class, and
// worst_class is the max error of a class. The last three are for Theorem 2; see sums.
var Columns = []string{
	"round", "test_error", "test_loss", "batch_loss", "honest_reputation", "byzantine_reputation", "byzantine_selected",
	"refused",
	"backdoor", "worst_class", "loss_sum", "steepest", "spread",
}

// Columns returns the names of the quantities that the training measures.
func (s Spec) Columns() []string {
	if s.Shadow {
		return slices.Concat(Columns, ShadowColumns)
	}
	return Columns
}

// Outcome is the result of a training.
type Outcome struct {
	Rows  [][]float64 // of Columns, one for each round that was evaluated
	Model []float64   // after the last round
}

// Fingerprint returns a hash of a model, the same for models that are equal bit for bit.
func Fingerprint(model []float64) string {
	h := app.ModelHash(model)
	return hex.EncodeToString(h[:])
}

// training is the object that Run measures: a chain, or the prototype without one.
type training interface {
	// next closes a round. It sets the reputations and adds to the counts.
	next(reputations, counts []float64) error
	open() Open
}

// Run trains to the last round.
func Run(ctx context.Context, spec Spec, data mnist.Data) (Outcome, error) {
	participants, err := NewParticipants(spec, data.Train)
	if err != nil {
		return Outcome{}, err
	}
	test, err := spec.evaluator(data.Test)
	if err != nil {
		return Outcome{}, err
	}
	t, err := participants.training()
	if err != nil {
		return Outcome{}, err
	}
	var beside *shadow
	if spec.Shadow {
		if beside, err = newShadow(spec, data.Train); err != nil {
			return Outcome{}, err
		}
	}
	var out Outcome
	counts := []float64{0, 0}
	for r, last := uint64(1), spec.Params.Training.Rounds; r <= last; r++ {
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		reputations := []float64{math.NaN(), math.NaN()}
		shown, err := beside.look(t.open())
		if err != nil {
			return Outcome{}, err
		}
		if err := t.next(reputations, counts); err != nil {
			return Outcome{}, err
		}
		if r == last || spec.Every != 0 && r%spec.Every == 0 {
			wrong, loss, err := measure(test, t.open().Model)
			damage, failed := spec.damage(r, data.Test, t.open().Model)
			if err := errors.Join(err, failed); err != nil {
				return Outcome{}, err
			}
			out.Rows = append(out.Rows, slices.Concat([]float64{float64(r), wrong, loss, participants.loss}, reputations, counts,
				damage, participants.theorem2.columns(), shown))
			counts = []float64{0, 0}
		}
	}
	out.Model = t.open().Model
	return out, nil
}

// Sites trains on the rows of sites, a participant each, and returns the last model. Sites that attack send what their
// behaviour makes of their vectors (attack.Twist).
func Sites(ctx context.Context, spec Spec, whole mnist.Set, parts [][]int, attacks map[int]string) ([]float64, error) {
	p, err := withParts(spec, whole, parts)
	if err != nil {
		return nil, err
	}
	config := p.Config()
	honest := config.Vector
	config.Vector = func(node int, s *app.State) gradients.Vector {
		return attack.Twist(attacks[node], honest(node, s))
	}
	chain, err := sim.NewSingle(config)
	for r := uint64(0); r < spec.Params.Training.Rounds && err == nil; r++ {
		if err = ctx.Err(); err == nil {
			_, err = chain.Round()
		}
	}
	if err != nil {
		return nil, err
	}
	return chain.State().Model, nil
}

// evaluator returns an evaluator of the spec's models on a test set.
func (s Spec) evaluator(test mnist.Set) (*evaluate.Evaluator, error) {
	set, err := s.Inputs(test)
	if err != nil {
		return nil, err
	}
	return evaluate.FromFeatures(set, s.Params.Model)
}

// measure returns the error and the loss of a model on the test set. A model that overflows has no loss.
func measure(test *evaluate.Evaluator, model []float64) (wrong, loss float64, err error) {
	measured, err := test.Evaluate(model)
	if measured.NonFinite > 0 {
		measured.Loss = math.NaN()
	}
	return 1 - measured.Accuracy, measured.Loss, err
}

// training returns the kind of training that the spec names.
func (p *Participants) training() (training, error) {
	switch {
	case p.spec.Lone:
		return newLone(p)
	case p.spec.Float32:
		return newPrototype(p)
	}
	return newOnChain(p)
}

// onChain is a training on a chain, a sim.Single.
type onChain struct {
	*Participants
	chain *sim.Single
}

func newOnChain(p *Participants) (training, error) {
	chain, err := sim.NewSingle(p.Config())
	return onChain{p, chain}, err
}

func (c onChain) open() Open {
	s := c.chain.State()
	return Open{s.Progress.Round, s.Progress.Seed, s.Model}
}

func (c onChain) next(reputations, counts []float64) error {
	closed, err := c.chain.Round()
	if err != nil {
		return err
	}
	for i, p := range c.chain.State().Participants {
		r := float64(p.Reputation) / params.One
		if i < c.spec.Byzantine {
			reputations[1] = fmax(reputations[1], r)
		} else {
			reputations[0] = -fmax(-reputations[0], -r)
		}
	}
	for _, x := range closed.Record.Contributions {
		if x.Selected && int(x.Participant) < c.spec.Byzantine {
			counts[0]++
		}
	}
	counts[1] += float64(closed.Refused)
	return nil
}

// fmax returns the larger number, or the other number if one is NaN.
func fmax(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// Config returns the configuration of the training's chain, for sim.New and sim.NewSingle.
func (p *Participants) Config() sim.Config {
	c := sim.Config{Nodes: p.spec.Nodes, Params: p.spec.Params, Seed: p.spec.Seed,
		Vector: func(node int, s *app.State) gradients.Vector {
			return p.Vector(node, Open{s.Progress.Round, s.Progress.Seed, s.Model})
		}}
	if p.spec.Shift {
		c.Lead = func(s *app.State, a *tx.Aggregate) error { return attack.Shift(a, s.Params, s.Active(), 0) }
	}
	return c
}
