package worker

import (
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/inputs"
	"github.com/spdl/spdl/mnist/model"
	"github.com/spdl/spdl/privacy"
)

// Shard prepares one part of a training set, a participant's own, for the
// chain's model. It fails with ErrUnfit where the data does not suit the model, or
// the chain's feature map is not this program's.
func Shard(set mnist.Set, part []int, m params.Model, keep inputs.Keep) (mnist.Features, error) {
	f, err := inputs.Of(set, part, m, keep)
	if errors.Is(err, inputs.ErrMap) || errors.Is(err, inputs.ErrInputs) {
		err = fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return f, err
}

// Trainer takes training steps on a participant's data. Not for concurrent use.
type Trainer struct {
	data      mnist.Features
	model     *model.Model
	mechanism *privacy.Mechanism
	source    *privacy.Source
	privacy   params.Privacy
	sum       []float64
	x         []float32 // the batch
	labels    []uint8
	picked    []int
	noise     float64
}

// NewTrainer prepares the steps of an epoch. The source is the participant's
// secret randomness: the batches and the noise.
func NewTrainer(p params.Params, data mnist.Features, source *privacy.Source) (*Trainer, error) {
	m, err := model.New(model.SpecOf(p.Model))
	if err != nil {
		return nil, err
	}
	if data.Len() == 0 || data.Inputs != int(p.Model.Inputs) {
		return nil, fmt.Errorf("%d examples of %d inputs, want at least 1 of %d", data.Len(), data.Inputs, p.Model.Inputs)
	}
	if p.Privacy.SamplingRate == 0 && data.Len() < int(p.Privacy.Batch) {
		return nil, fmt.Errorf("%d examples, the chain's fixed batch takes %d", data.Len(), p.Privacy.Batch)
	}
	if most := mostExamples(p.Privacy); data.Len() > most {
		data = cut(data, most)
	}
	grid := p.Grid.Lattice()
	mechanism, err := privacy.New(mechanismConfig(p.Privacy), grid, m.Dim(), source)
	if err != nil {
		return nil, err
	}
	return &Trainer{data: data, model: m, mechanism: mechanism, source: source, privacy: p.Privacy, sum: make([]float64, m.Dim())}, nil
}

// mostExamples returns how many the chain's batch allows: with more, vectors would be
// longer than validators admit.
func mostExamples(p params.Privacy) int {
	if !p.NoiseFloor || p.SamplingRate == 0 {
		return math.MaxInt
	}
	return int(float64(p.Batch) / p.SamplingRate)
}

// cut thins a data set out, evenly, to a number of examples.
func cut(data mnist.Features, most int) mnist.Features {
	picked := make([]int, most)
	for i := range picked {
		picked[i] = i * data.Len() / most
	}
	x, labels := data.Batch(nil, nil, picked)
	return mnist.Features{X: x, Labels: labels, Inputs: data.Inputs}
}

// Step computes the participant's gradient at x: a secret batch, the sum of
// the clipped per-example gradients, the mechanism.
func (t *Trainer) Step(x []float64) (gradients.Vector, model.Stats) {
	if t.privacy.SamplingRate > 0 {
		t.picked = privacy.PoissonSample(t.picked[:0], t.data.Len(), t.privacy.SamplingRate, t.source)
	} else {
		t.picked = privacy.FixedSample(t.picked[:0], t.data.Len(), int(t.privacy.Batch), t.source)
	}
	t.x, t.labels = t.data.Batch(t.x[:0], t.labels[:0], t.picked)
	stats := t.model.ClippedSum(t.sum, x, t.x, t.labels, t.privacy.Clip)
	v, report := t.mechanism.Release(t.sum)
	t.noise = report.NoiseStd
	return v, stats
}

// NoiseStd returns the standard deviation of the noise in each coordinate of the last gradient. With
// the prototype's mechanism it is PRIVATE: it tells the gradient's norm.
func (t *Trainer) NoiseStd() float64 { return t.noise }

// GridStep returns the grid step that a preset takes: an eighth of the submitted
// vector's final noise standard deviation, in gradient units.
func GridStep(p params.Privacy) float64 { return privacy.StepFor(mechanismConfig(p)) }

// mechanismConfig returns what of a chain's privacy the mechanism needs. The two are types of their
// own because the chain's also holds sampling, the budget and the ledger, and package privacy,
// which draws noise, knows no chain.
func mechanismConfig(p params.Privacy) privacy.Config {
	return privacy.Config{
		Kind: privacy.Kind(p.Mechanism), Clip: p.Clip, NoiseMultiplier: p.NoiseMultiplier,
		ExpectedBatch: float64(p.Batch), Momentum: p.WorkerMomentum, PrototypeEpsilon: p.PrototypeEpsilon, Discrete: p.Discrete,
	}
}
