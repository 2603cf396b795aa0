package privacy_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
	"github.com/spdl/spdl/privacy"
)

// ErrSetting is wrapped by the errors of a setting of the attack, beside those of the model and the mechanism.
var ErrSetting = errors.New("privacy: bad setting of the attack")

// Setting is a worker under attack. All of it is known to the observer.
type Setting struct {
	Model     model.Spec
	Data      mnist.Features // the victim's examples without the canary
	Canary    mnist.Features // one row
	Copies    int            // of the canary, all of one person; 0 for 1
	Unit      string         // of privacy: empty for an example, or params.UnitGroup
	Models    [][]float64    // the parameters of each round
	Rate      float64        // q
	Mechanism privacy.Config
	Grid      gradients.Grid
}

func (s Setting) validate() error {
	switch {
	case s.Data.Len() == 0 || s.Data.Inputs != s.Model.Inputs:
		return fmt.Errorf("%w: %d examples of %d inputs, want at least 1 of %d", ErrSetting, s.Data.Len(), s.Data.Inputs,
			s.Model.Inputs)
	case s.Canary.Len() != 1 || s.Canary.Inputs != s.Model.Inputs:
		return fmt.Errorf("%w: %d canaries of %d inputs, want 1 of %d", ErrSetting, s.Canary.Len(), s.Canary.Inputs,
			s.Model.Inputs)
	case s.Copies < 0 || s.Unit != "" && s.Unit != params.UnitGroup:
		return fmt.Errorf("%w: %d copies with unit %q, want at least 1 and %q or none", ErrSetting, s.Copies, s.Unit,
			params.UnitGroup)
	case len(s.Models) == 0:
		return fmt.Errorf("%w: no rounds", ErrSetting)
	case !(s.Rate > 0 && s.Rate <= 1):
		return fmt.Errorf("%w: sampling rate %v, want above 0 and at most 1", ErrSetting, s.Rate)
	case s.Mechanism.Kind == privacy.Prototype:
		return fmt.Errorf("%w: mechanism %q, whose noise depends on the batch", ErrSetting, s.Mechanism.Kind)
	}
	return nil
}

// copies returns the number of the canary's rows.
func (s Setting) copies() int { return max(1, s.Copies) }

// member returns the victim's data with the canary's rows behind them. Every other example is a group
// of its own, and the rows of the canary are one.
func (s Setting) member() mnist.Features {
	n := s.Data.Len()
	f := mnist.Features{X: slices.Clone(s.Data.X), Labels: slices.Clone(s.Data.Labels), Inputs: s.Data.Inputs}
	for range s.copies() {
		f.X, f.Labels = append(f.X, s.Canary.X...), append(f.Labels, s.Canary.Labels...)
	}
	for i := range f.Labels {
		f.Groups = append(f.Groups, uint32(min(i, n)))
	}
	return f
}

// params returns the parameters of a chain whose worker the victim is.
func (s Setting) params() params.Params {
	kind := params.ModelSoftmax
	if s.Model.Hidden > 0 {
		kind = params.ModelMLP
	}
	return params.Params{
		Model: params.Model{Kind: kind, Inputs: uint32(s.Model.Inputs), Hidden: uint32(s.Model.Hidden),
			Classes: uint32(s.Model.Classes), NoBias: s.Model.NoBias},
		Privacy: params.Privacy{Unit: s.Unit, Mechanism: string(s.Mechanism.Kind), Clip: s.Mechanism.Clip,
			NoiseMultiplier: s.Mechanism.NoiseMultiplier, Batch: uint32(s.Mechanism.ExpectedBatch), SamplingRate: s.Rate,
			WorkerMomentum: s.Mechanism.Momentum},
		Grid: params.Grid{Width: uint32(s.Grid.Width), Step: s.Grid.Step},
	}
}

// Canary is a kind of example whose membership is in question.
type Canary string

const (
	Typical     Canary = "typical"     // an image like the others
	Mislabelled Canary = "mislabelled" // one with a wrong label, to which a model is always opposed
	// Crafted is the worst for its owner: an image lit in the corners alone, where no other is, so
	// that its gradient has coordinates to itself. Differential privacy protects it as well.
	Crafted Canary = "crafted"
)

// Options choose a setting on MNIST like the presets: clip 1, sampling rate 0.1, momentum 0.9, and
// pooled pixels at learning rate 20 or strokes without bias at 30.
type Options struct {
	Strokes         bool
	Hidden          int // units of the MLP; 0 for softmax
	Samples         int // of the victim, the canary apart
	Rounds          int
	NoiseMultiplier float64 // of the victim; 0 for none
	Canary          Canary
	Copies          int    // of the canary; 0 for 1
	Unit            string // of privacy
	Seed            uint64 // of the partition and the training
}

const (
	rate     = 0.1
	clip     = 1
	momentum = 0.9
	learning = 20 // on pixels
	steeper  = 30 // on strokes
	// presetNoise is the noise of the training that gives the models, whatever the victim's.
	presetNoise = 2.670
	// fineStep is the grid's where no noise hides the rounding, on int16: range ±0.25, fifteen
	// times what a coordinate of a mean gradient has.
	fineStep = 1.0 / (1 << 16)
)

// OnMNIST makes a setting from a training set of images like MNIST's: a quarter of it for the
// training that gives the models, and out of other quarters the victim's examples and the canary.
func OnMNIST(train mnist.Set, o Options) (Setting, error) {
	if o.Samples < 1 || o.Samples > train.Len()/4 || o.Rounds < 1 {
		return Setting{}, fmt.Errorf("%w: %d samples and %d rounds, want 1 to %d and at least 1", ErrSetting, o.Samples,
			o.Rounds, train.Len()/4)
	}
	parts := mnist.PartitionIID(train.Len(), 4, o.Seed)
	canary := train.Subset(parts[2][:1])
	switch o.Canary {
	case Typical:
	case Mislabelled:
		canary.Labels[0] = (canary.Labels[0] + 5) % mnist.Classes
	case Crafted:
		lightCorners(canary)
	default:
		return Setting{}, fmt.Errorf("%w: canary %q, want %q, %q or %q", ErrSetting, o.Canary, Typical, Mislabelled, Crafted)
	}
	var sets [3]mnist.Features
	for i, set := range []mnist.Set{train.Subset(parts[0][:o.Samples]), train.Subset(parts[1]), canary} {
		var err error
		if o.Strokes {
			sets[i], err = features.Strokes(set, nil)
		} else {
			sets[i], err = set.Features(2, 0, math.MaxUint8)
		}
		if err != nil {
			return Setting{}, err
		}
	}
	s := Setting{
		Model: model.Spec{Inputs: sets[2].Inputs, Hidden: o.Hidden, Classes: mnist.Classes, NoBias: o.Strokes},
		Data:  sets[0], Canary: sets[2], Copies: o.Copies, Unit: o.Unit, Rate: rate,
		Mechanism: config(o.Samples, o.NoiseMultiplier),
		Grid:      gradients.Grid{Width: gradients.Int16, Step: fineStep},
	}
	if o.NoiseMultiplier != 0 {
		s.Grid = gradients.Grid{Width: gradients.Int8, Step: privacy.StepFor(s.Mechanism)}
	}
	var err error
	s.Models, err = trajectory(s.Model, sets[1], o.Rounds, o.Seed)
	return s, err
}

func config(samples int, multiplier float64) privacy.Config {
	c := privacy.Config{Kind: privacy.None, Clip: clip, ExpectedBatch: max(1, rate*float64(samples)), Momentum: momentum}
	if multiplier != 0 {
		c.Kind, c.NoiseMultiplier = privacy.Gaussian, multiplier
	}
	return c
}

// lightCorners makes the one image of a set black but for its corners.
func lightCorners(one mnist.Set) {
	clear(one.Images)
	for _, row := range []int{0, 1, one.Rows - 2, one.Rows - 1} {
		for _, col := range []int{0, 1, one.Cols - 2, one.Cols - 1} {
			one.Images[row*one.Cols+col] = math.MaxUint8
		}
	}
}
