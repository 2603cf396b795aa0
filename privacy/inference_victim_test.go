package privacy_test

import (
	"math"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// victim is a worker. With groups it is app/worker's own trainer, and else what that does in a round.
type victim struct {
	grouped *worker.Trainer // nil if the unit of privacy is an example

	data   mnist.Features
	rate   float64
	clip   float64
	model  *model.Model
	mech   *privacy.Mechanism
	source *privacy.Source

	picked []int
	x      []float32
	labels []uint8
	sum    []float64
}

func newVictim(m *model.Model, data mnist.Features, rate float64, c privacy.Config, grid gradients.Grid,
	source *privacy.Source) (*victim, error) {
	mech, err := privacy.New(c, grid, m.Dim(), source)
	if err != nil {
		return nil, err
	}
	return &victim{data: data, rate: rate, clip: c.Clip, model: m, mech: mech, source: source,
		sum: make([]float64, m.Dim())}, nil
}

// newVictimOf returns the victim of a setting with the canary among its examples, or without.
func newVictimOf(s Setting, m *model.Model, member bool, source *privacy.Source) (*victim, error) {
	data := s.member()
	if !member {
		n := s.Data.Len()
		data.X, data.Labels, data.Groups = data.X[:n*data.Inputs], data.Labels[:n], data.Groups[:n]
	}
	if s.Unit == "" {
		return newVictim(m, data, s.Rate, s.Mechanism, s.Grid, source)
	}
	grouped, err := worker.NewTrainer(s.params(), data, source)
	return &victim{grouped: grouped}, err
}

// release returns what leaves the worker in a round that begins at the parameters x.
func (v *victim) release(x []float64) gradients.Vector {
	if v.grouped != nil {
		vector, _ := v.grouped.Step(x)
		return vector
	}
	v.picked = privacy.PoissonSample(v.picked[:0], v.data.Len(), v.rate, v.source)
	v.x, v.labels = v.data.Batch(v.x[:0], v.labels[:0], v.picked)
	v.model.ClippedSum(v.sum, x, v.x, v.labels, v.clip)
	vector, _ := v.mech.Release(v.sum)
	return vector
}

// trajectory trains on data as a participant with the preset's noise does, and returns the
// parameters that each round began with.
func trajectory(spec model.Spec, data mnist.Features, rounds int, seed uint64) ([][]float64, error) {
	m, err := model.New(spec)
	if err != nil {
		return nil, err
	}
	source := privacy.NewTestSource(seed)
	c := config(data.Len(), presetNoise)
	grid := gradients.Grid{Width: gradients.Int8, Step: privacy.StepFor(c)}
	worker, err := newVictim(m, data, rate, c, grid, source)
	if err != nil {
		return nil, err
	}
	models := make([][]float64, rounds)
	x := initial(spec, source)
	for t := range models {
		models[t] = append([]float64(nil), x...)
		g := worker.release(x)
		for j := range x {
			x[j] -= rateOf(spec) * grid.Step * float64(g.At(j))
		}
	}
	return models, nil
}

// rateOf is the learning rate of a model's preset. Only a model on strokes has no bias.
func rateOf(s model.Spec) float64 {
	if s.NoBias {
		return steeper
	}
	return learning
}

// initial is zero for softmax, and for the MLP uniform weights (Glorot and Bengio, 2010) and zero
// biases.
func initial(s model.Spec, source privacy.UniformSource) []float64 {
	x := make([]float64, s.Dim())
	if s.Hidden == 0 {
		return x
	}
	second := s.Hidden * (s.Inputs + 1)
	fill(x[:s.Hidden*s.Inputs], math.Sqrt(6/float64(s.Inputs+s.Hidden)), source)
	fill(x[second:second+s.Classes*s.Hidden], math.Sqrt(6/float64(s.Hidden+s.Classes)), source)
	return x
}

func fill(dst []float64, bound float64, source privacy.UniformSource) {
	for i := range dst {
		dst[i] = bound * float64(int64(source.Uint64())) * 0x1p-63
	}
}
