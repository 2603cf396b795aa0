package preset

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist/features"
)

// Own holds the choices of a chain's participants that replace the preset's settings. If a field is
// zero, the preset's setting stays.
type Own struct {
	Data     *Data         // the training data; nil for MNIST
	Model    *params.Model // a model of the kind external, only for the preset external
	Examples int           // the number of examples of one participant
	Rounds   uint64
	Epsilon  float64 // the target epsilon, for presets with a guarantee
	// Norm bounds the inputs of each example, if Model is a softmax regression; 0 for another model.
	Norm float64
	// Gradient is the typical norm of an example's gradient when Model begins; 0 if nothing public says it.
	Gradient float64
}

// AllNames lists the names that Make accepts: the presets and external.
func AllNames() []string { return append(Names(), NameExternal) }

// Make returns the parameters of a preset for n participants, with the participants' own choices.
// It fails for an unknown preset and for choices that do not fit the preset.
func Make(name string, n int, own Own) (params.Params, error) {
	if name == NameExternal {
		return own.externalPreset(n)
	}
	if own.Model != nil {
		return params.Params{}, fmt.Errorf("preset %q has a model of its own: a model is for preset %q", name, NameExternal)
	}
	p, err := New(name, n)
	if err != nil {
		return p, err
	}
	if own.Data != nil {
		if p, err = own.Data.fitParams(p, n); err != nil {
			return p, err
		}
	}
	if linear := p.Model.Centred() && p.Model.Kind != params.ModelMLP; linear && p.Privacy.SamplingRate > 0 {
		err = fitTable(&p, own, n)
	} else {
		err = own.scale(&p, n)
	}
	if err != nil {
		return p, err
	}
	err = Account(&p)
	return p, err
}

// fitParams returns a preset's parameters with model and unit adapted to the data. If the preset needs the public
// feature map and the map does not apply to the data, fitParams adapts the preset pixels instead.
func (d Data) fitParams(p params.Params, n int) (_ params.Params, err error) {
	if p.Model.Features.Name == params.FeaturesStrokes && !d.fitsStrokes() {
		if p, err = New("pixels", n); err != nil {
			return p, err
		}
	}
	p.Privacy.Unit = d.privacyUnit()
	p.Preset += " on own data"
	if err = d.fitModel(&p.Model); d.Table != nil && p.Model.Kind != params.ModelMLP {
		p.Preset = p.Model.Kind + " on own table"
	}
	return p, err
}

// privacyUnit returns the unit of privacy: a group if the data have groups.
func (d Data) privacyUnit() string {
	if d.Grouped || d.Table != nil && d.Table.Group != "" {
		return params.UnitGroup
	}
	return ""
}

// fitsStrokes reports whether the public feature map applies to the data: square images of at least
// MinSide pixels a side.
func (d Data) fitsStrokes() bool {
	return d.Table == nil && d.Rows == d.Cols && d.Rows >= features.MinSide
}

// Share returns the number of examples of each of n participants.
func (o Own) Share(n int) int {
	switch {
	case o.Examples > 0:
		return o.Examples
	case o.Data != nil:
		return max(1, o.Data.Examples/n)
	}
	return examples / n
}

// longest bounds the learning rate of a model of which nothing is known but its shape.
const longest = 2

// externalPreset returns the parameters of the preset "external". spdl plan shows the same rule and
// noise for the same epsilon and rounds. Every round takes all examples. The learning rate of a softmax
// regression follows from the norm of its inputs. Other models take steps of longest clip norms, or shorter ones, so
// that the noise of all rounds is at most mostNoise clip norms. The clip norm is 1, or from the typical gradient up to
// twice it, as noise allows: with a smaller one probabilities are too extreme and those of the rarer class too low.
func (o Own) externalPreset(n int) (params.Params, error) {
	if o.Model == nil {
		return params.Params{}, errors.New(`preset "external" needs a model: name a JSON file of its kind, clipping and ` +
			`tensors with --model`)
	}
	if o.Model.Kind != params.ModelExternal {
		return params.Params{}, fmt.Errorf("the model's kind is %.64q, want %q: other kinds have presets of their own",
			o.Model.Kind, params.ModelExternal)
	}
	if err := o.Model.ValidateExternal(); err != nil {
		return params.Params{}, err
	}
	if o.Examples == 0 && o.Data == nil {
		return params.Params{}, errors.New(`preset "external" needs the number of examples that each participant has, of ` +
			`which its batch is a share: give it with --examples, as spdl trainer check shows it`)
	}
	s := Study{Model: *o.Model, Examples: o.Share(n), Rounds: cmp.Or(o.Rounds, 100), Epsilon: cmp.Or(o.Epsilon, 2),
		Clip: 1, SamplingRate: 1, LearningRate: longest}
	p, err := External(n, s)
	if o.Data != nil {
		p.Privacy.Unit = o.Data.privacyUnit()
	}
	if err != nil {
		return p, err
	}
	if o.Norm == 0 {
		noise := p.Privacy.NoiseMultiplier / float64(p.Privacy.Batch) // in clip norms
		step := min(longest, mostNoise*math.Sqrt(float64(n)/float64(s.Rounds))/noise)
		p.Privacy.Clip = readable(max(s.Clip, o.Gradient*(1+step/longest)))
		p.Training.LearningRate, p.Grid.Step = readable(step/p.Privacy.Clip), worker.GridStep(p.Privacy)
		return p, nil
	}
	if err := headFacts(o.Norm, float64(o.Model.Tensors[0].Shape[0])).fit(&p, o, n); err != nil {
		return p, err
	}
	return p, Account(&p)
}
