package worker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// Shard prepares a participant's part of a training set for the chain's model. It fails with
// ErrUnfit if the data do not fit the model, or if this program lacks the chain's feature map.
func Shard(set mnist.Set, part []int, m params.Model, keep inputs.Keep) (mnist.Features, error) {
	f, err := inputs.Of(set, part, m, keep)
	if errors.Is(err, inputs.ErrMap) || errors.Is(err, inputs.ErrInputs) {
		err = fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return f, err
}

// Examples is a participant's access to its own examples for an external model: another program
// computes the gradients.
type Examples interface {
	// Len returns the number of examples, or of groups if they are the unit of privacy.
	Len() int
	// ClippedSum sets dst to the sum of the gradients at x of the picked examples, each clipped to
	// the chain's clip norm. After an error the content of dst is undefined.
	ClippedSum(ctx context.Context, dst, x []float64, picked []int) error
	// Close ends the other program.
	Close()
}

// Trainer takes training steps on a participant's data. It is not safe for concurrent use.
type Trainer struct {
	clipped   func(ctx context.Context, dst, x []float64, picked []int) (model.Stats, error)
	external  bool // whether another program computes the steps: they may fail, and take long
	close     func()
	have      int     // the number of examples, or of groups if they are the unit of privacy
	radius    float64 // radius of the ball onto which the sum is projected; infinite if there is no bound
	mechanism *privacy.Mechanism
	source    privacy.UniformSource // the randomness from which batches are drawn
	privacy   params.Privacy
	sum       []float64
	picked    []int
	noise     float64
	drawn     *params.RoundID // the round for which picked was drawn, until its gradient is released
}

// NewTrainer prepares the steps of an epoch. The participant's secret randomness, source,
// determines the batches and the noise.
func NewTrainer(p params.Params, data mnist.Features, source *privacy.Source) (*Trainer, error) {
	m, err := model.New(model.SpecOf(p.Model))
	if err != nil {
		return nil, err
	}
	if p.Model.Table != nil {
		m.Weigh(p.Model.Table.Weights)
	}
	if data.Len() == 0 || data.Inputs != int(p.Model.Inputs) {
		return nil, fmt.Errorf("%d examples of %d inputs, want at least 1 of %d", data.Len(), data.Inputs, p.Model.Inputs)
	}
	if p.Privacy.Unit == params.UnitGroup {
		return newGrouped(p, m, data, source)
	}
	t, err := newTrainer(p, data.Len(), source)
	if err != nil {
		return nil, err
	}
	var x []float32 // the examples of the batch
	var labels []uint8
	t.clipped = func(_ context.Context, dst, at []float64, picked []int) (model.Stats, error) {
		x, labels = data.Batch(x[:0], labels[:0], picked)
		return m.ClippedSum(dst, at, x, labels, p.Privacy.Clip), nil
	}
	t.close = func() {}
	return t, nil
}

// newExternal prepares the steps of an epoch with an external model. The trainer closes examples.
func newExternal(p params.Params, examples Examples, source *privacy.Source) (*Trainer, error) {
	t, err := newTrainer(p, examples.Len(), source)
	if err != nil {
		examples.Close()
		return nil, err
	}
	t.external, t.close = true, examples.Close
	t.clipped = func(ctx context.Context, dst, x []float64, picked []int) (model.Stats, error) {
		return model.Stats{}, examples.ClippedSum(ctx, dst, x, picked)
	}
	return t, nil
}

// newTrainer prepares the part that all trainers share.
func newTrainer(p params.Params, have int, source *privacy.Source) (*Trainer, error) {
	if p.Privacy.SamplingRate == 0 && have < int(p.Privacy.Batch) {
		return nil, fmt.Errorf("%d examples, the chain's fixed batch takes %d", have, p.Privacy.Batch)
	}
	d := p.Model.Dim()
	mechanism, err := privacy.New(mechanismConfig(p.Privacy), p.Grid.Lattice(), d, source)
	if err != nil {
		return nil, err
	}
	return &Trainer{
		have: have, radius: radius(p), mechanism: mechanism, source: source, privacy: p.Privacy, sum: make([]float64, d),
	}, nil
}

// radius returns the bound on the norm of a sum of clipped gradients: validators accept the vector
// of a sum within it (SPEC G6). The bound allows for a batch eight standard deviations above the
// expected size. A participant with the number of examples that the parameters assume,
// batch/sampling_rate, never reaches it; one with more examples may.
func radius(p params.Params) float64 {
	if !p.Privacy.NoiseFloor || p.Privacy.SamplingRate == 0 {
		return math.Inf(1)
	}
	return float64(p.Privacy.Batch) * p.Noise().Signal
}

// Step computes the participant's gradient at x: it draws a secret batch, sums the clipped
// gradients of its examples, and applies the mechanism. It is only for built-in models.
func (t *Trainer) Step(x []float64) (gradients.Vector, model.Stats) {
	stats, _ := t.compute(context.Background(), params.RoundID{}, x) // no error is possible with a built-in model
	return t.release(), stats
}

// compute computes the sum for a round. After a failure the round keeps its batch: if a failure led
// to a new batch, a trainer could fail on purpose and so choose among batches.
func (t *Trainer) compute(ctx context.Context, at params.RoundID, x []float64) (model.Stats, error) {
	if t.drawn == nil || *t.drawn != at {
		t.draw()
		t.drawn = &at
	}
	stats, err := t.clipped(ctx, t.sum, x, t.picked)
	if err == nil {
		privacy.Project(t.sum, t.radius)
	}
	return stats, err
}

// release turns the sum into the round's gradient, which spends privacy budget.
func (t *Trainer) release() gradients.Vector {
	t.drawn = nil
	v, report := t.mechanism.Release(t.sum)
	t.noise = report.NoiseStd
	return v
}

// draw picks the batch among all examples. The sampling rate does not depend on their number, so
// adding or removing one example does not change how likely the others are.
func (t *Trainer) draw() {
	if t.privacy.SamplingRate > 0 {
		t.picked = privacy.PoissonSample(t.picked[:0], t.have, t.privacy.SamplingRate, t.source)
	} else {
		t.picked = privacy.FixedSample(t.picked[:0], t.have, int(t.privacy.Batch), t.source)
	}
}

// NoiseStd returns the standard deviation of the noise in each coordinate of the last gradient.
// With the prototype's mechanism the value is PRIVATE, because it reveals the gradient's norm.
func (t *Trainer) NoiseStd() float64 { return t.noise }

// GridStep returns the grid step that a preset uses: an eighth of the final standard deviation of
// the noise in a submitted vector, in gradient units.
func GridStep(p params.Privacy) float64 { return privacy.StepFor(mechanismConfig(p)) }

// NoiseStd returns the standard deviation of the noise in each coordinate of a submitted vector after
// many rounds, in gradient units. It is 0 with a mechanism other than the gaussian one.
func NoiseStd(p params.Privacy) float64 { return privacy.FinalStd(mechanismConfig(p)) }

// mechanismConfig returns the part of a chain's privacy parameters that the mechanism needs. It has
// a type of its own because package privacy knows no sampling, budget or ledger.
func mechanismConfig(p params.Privacy) privacy.Config {
	return privacy.Config{
		Kind: privacy.Kind(p.Mechanism), Clip: p.Clip, NoiseMultiplier: p.NoiseMultiplier,
		ExpectedBatch: float64(p.Batch), Momentum: p.WorkerMomentum, PrototypeEpsilon: p.PrototypeEpsilon,
		Discrete: p.Discrete,
	}
}
