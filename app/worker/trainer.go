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

// Shard converts a participant's part of a training set to the inputs of the chain's model. The argument part lists the
// indices of the examples; nil means all examples. Shard fails with ErrUnfit if the data do not fit the model, or if
// this program does not have the chain's feature map.
func Shard(set mnist.Set, part []int, m params.Model, keep inputs.Keep) (mnist.Features, error) {
	f, err := inputs.Features(set, part, m, keep)
	if errors.Is(err, inputs.ErrMap) || errors.Is(err, inputs.ErrInputs) {
		err = fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return f, err
}

// Examples gives the gradients of a participant's own examples for an external model. Another program computes them.
type Examples interface {
	// Len returns the number of examples, or of groups if the unit of privacy is a group.
	Len() int
	// ClippedSum sets dst to the sum of the gradients, at x, of the examples in picked, each
	// clipped to the chain's clip norm. After an error the content of dst is undefined.
	ClippedSum(ctx context.Context, dst, x []float64, picked []int) error
	// Close ends the program that computes the gradients.
	Close()
}

// Trainer takes training steps on a participant's data. It is not safe for concurrent use.
type Trainer struct {
	clipped    func(ctx context.Context, dst, x []float64, picked []int) (model.Stats, error)
	external   bool // whether another program computes the sums, which may fail and take long
	close      func()
	units      int     // the number of examples, or of groups if the unit of privacy is a group
	radius     float64 // the max norm of the sum; infinite without a bound
	mechanism  *privacy.Mechanism
	source     privacy.UniformSource // the randomness from which batches are drawn
	privacy    params.Privacy
	sum        []float64
	batch      []int
	noise      float64
	intercept  *intercept      // nil if the participant has none of its own
	batchRound *params.RoundID // the round for which batch was drawn, until its gradient is released
}

// NewTrainer returns a trainer for a built-in model. The batches and the noise come from source,
// the participant's secret randomness. NewTrainer fails if the data do not fit the parameters.
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
		if len(picked) == data.Len() { // all of them, of which no copy is needed
			return m.ClippedSum(dst, at, data.X, data.Labels, p.Privacy.Clip), nil
		}
		x, labels = data.Batch(x[:0], labels[:0], picked)
		return m.ClippedSum(dst, at, x, labels, p.Privacy.Clip), nil
	}
	return t, nil
}

// NewExternal returns a trainer for an external model. The trainer closes examples; if NewExternal
// fails, it closes them itself.
func NewExternal(p params.Params, examples Examples, source *privacy.Source) (*Trainer, error) {
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

// newTrainer returns a trainer whose function clipped is not set yet, and that has nothing to close. units is the
// number of examples or groups.
func newTrainer(p params.Params, units int, source *privacy.Source) (*Trainer, error) {
	if p.Privacy.SamplingRate == 0 && units < int(p.Privacy.Batch) {
		return nil, fmt.Errorf("%d examples, the chain's fixed batch takes %d", units, p.Privacy.Batch)
	}
	if n := float64(units) * p.Privacy.SamplingRate; max(n, float64(p.Privacy.Batch)) > privacy.MaxRows/2 {
		return nil, fmt.Errorf("batches of about %.0f of %d examples or groups, expected %d, want at most %d: larger sums "+
			"round too much", n, units, p.Privacy.Batch, privacy.MaxRows/2)
	}
	d := p.Model.Dim()
	mechanism, err := privacy.New(mechanismConfig(p.Privacy), p.Grid.Lattice(), d, source)
	if err != nil {
		return nil, err
	}
	return &Trainer{
		units: units, radius: radius(p), mechanism: mechanism, source: source, privacy: p.Privacy, sum: make([]float64, d),
		intercept: newIntercept(p), close: func() {},
	}, nil
}

// radius returns the max norm of a sum of clipped gradients. Validators may reject a vector that is
// made of a longer sum (SPEC, G6). The bound allows for a sampled batch eight standard deviations above
// the expected size. If a participant has the number of examples that the parameters assume,
// batch/sampling_rate, its sums stay within the bound. With more examples a sum may reach the bound.
func radius(p params.Params) float64 {
	if !p.Privacy.NoiseFloor {
		return math.Inf(1)
	}
	return float64(p.Privacy.Batch) * p.Noise().Signal
}

// Step computes the participant's gradient at x: it draws a secret batch, sums the clipped
// gradients of the batch's examples, and applies the mechanism. It is only for built-in models.
func (t *Trainer) Step(x []float64) (gradients.Vector, model.Stats) {
	stats, _ := t.compute(context.Background(), params.RoundID{}, x) // no error is possible with a built-in model
	return t.release(), stats
}

// compute computes the sum of the clipped gradients for the round at. After a failure the round keeps its batch: if a
// failure led to a new batch, an external trainer could fail on purpose and so choose among batches.
func (t *Trainer) compute(ctx context.Context, at params.RoundID, x []float64) (model.Stats, error) {
	if t.batchRound == nil || *t.batchRound != at {
		t.draw()
		t.batchRound = &at
	}
	if t.intercept != nil {
		x = t.intercept.place(x)
	}
	stats, err := t.clipped(ctx, t.sum, x, t.batch)
	if err == nil {
		privacy.Project(t.sum, t.radius)
	}
	return stats, err
}

// release applies the mechanism to the sum of the batch's clipped gradients and returns the round's
// gradient. Each call uses up privacy budget, unless mark takes it back.
func (t *Trainer) release() gradients.Vector {
	t.batchRound = nil
	v, report := t.mechanism.Release(t.sum)
	t.noise = report.NoiseStd
	if t.intercept != nil {
		t.intercept.follow(v)
	}
	return v
}

// draw picks the batch among all examples or groups. The sampling rate does not depend on their number, so adding or
// removing one example does not change the probabilities of the other examples.
func (t *Trainer) draw() {
	if t.privacy.SamplingRate > 0 {
		t.batch = privacy.PoissonSample(t.batch[:0], t.units, t.privacy.SamplingRate, t.source)
	} else {
		t.batch = privacy.FixedSample(t.batch[:0], t.units, int(t.privacy.Batch), t.source)
	}
}

// mark returns a function that takes a release back, which nobody has seen: nothing later may follow it,
// because the ledger does not count it.
func (t *Trainer) mark() (undo func() error) {
	before := t.mechanism.Snapshot()
	var own intercept
	if t.intercept != nil {
		own = *t.intercept
	}
	return func() error {
		if t.intercept != nil {
			*t.intercept = own
		}
		return t.mechanism.Restore(before)
	}
}

// NoiseStd returns the standard deviation of the noise in each coordinate of the last gradient. With the prototype's
// mechanism the value must stay secret, because it reveals the gradient's norm.
func (t *Trainer) NoiseStd() float64 { return t.noise }

// GridStep returns the grid step of the presets, in gradient units: an eighth of the final standard
// deviation of the noise in a submitted vector.
func GridStep(p params.Privacy) float64 { return privacy.StepFor(mechanismConfig(p)) }

// NoiseStd returns the standard deviation of the noise in each coordinate of a submitted vector
// after many rounds, in gradient units; of the sum after the last round divided by the number of
// rounds, if vectors are sums. It is 0 with a mechanism other than the gaussian mechanism.
func NoiseStd(p params.Params) float64 {
	std := privacy.FinalStd(mechanismConfig(p.Privacy))
	if p.Privacy.Sums() {
		return std / math.Sqrt(float64(p.Training.Rounds))
	}
	return std
}

// mechanismConfig converts a chain's privacy parameters to a privacy.Config, which has only what
// the mechanism needs. Package privacy does not know sampling, budgets or ledgers.
func mechanismConfig(p params.Privacy) privacy.Config {
	return privacy.Config{
		Kind: privacy.Kind(p.Mechanism), Clip: p.Clip, NoiseMultiplier: p.NoiseMultiplier,
		ExpectedBatch: float64(p.Batch), Momentum: p.WorkerMomentum, PrototypeEpsilon: p.PrototypeEpsilon,
		Discrete: p.Discrete,
	}
}
