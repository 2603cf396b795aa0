package train

import (
	"math"
	"slices"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
)

// rows are the attackers' training examples, from which they make noise-free gradients.
type rows struct {
	spec  Spec
	train mnist.Set
	whole mnist.Features // of all participants
	own   []int          // examples of the attackers

	model            *model.Model
	plain, triggered *mnist.Features
	end              []float64 // the model that expected returns
}

// pick returns the inputs of some examples of all participants.
func (r *rows) pick(part []int) mnist.Features {
	return r.whole.Subset(enough(part, r.spec.Params.Privacy))
}

// enough repeats the examples of a part that is too small for the chain's fixed batch, which occurs
// in Dirichlet partitions. Such a participant's batches may have an example twice.
func enough(part []int, p params.Privacy) []int {
	if p.SamplingRate > 0 {
		return part
	}
	own := len(part)
	for len(part) < int(p.Batch) {
		part = append(part, part[len(part)%own])
	}
	return part
}

// mostRows bounds the number of rows for a noise-free gradient, which are spread evenly over all
// rows. More rows take longer and hardly make it better.
const mostRows = 4000

// slope returns the gradient of a goal at x, the zero vector if it cannot be computed.
func (r *rows) slope(g attack.Goal, x []float64) []float64 {
	out := make([]float64, len(x))
	on, err := r.of(g.Triggered)
	if err != nil {
		return out
	}
	r.model.Gradient(out, x, on.X, on.Labels, g.Deltas)
	for _, v := range out {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return make([]float64, len(x))
		}
	}
	return out
}

// expected returns the model in which a training on the attackers' rows alone would end, without noise
// and from the x of the first call. It returns that x if the model cannot be trained.
func (r *rows) expected(x []float64) []float64 {
	if r.end != nil {
		return r.end
	}
	r.end = slices.Clone(x)
	on, err := r.of(false)
	if err != nil {
		return r.end
	}
	if t := r.spec.Params.Model.Table; t != nil {
		r.model.Weigh(t.Weights)
	}
	t, sum := r.spec.Params.Training, make([]float64, len(x))
	for range t.Rounds {
		r.model.ClippedSum(sum, r.end, on.X, on.Labels, r.spec.Params.Privacy.Clip)
		for j, g := range sum {
			r.end[j] -= t.LearningRate * g / float64(on.Len())
		}
	}
	return r.end
}

// of returns the rows without the trigger, or with the trigger on them.
func (r *rows) of(triggered bool) (on *mnist.Features, err error) {
	if r.model == nil {
		if r.model, err = model.New(model.SpecOf(r.spec.Params.Model)); err != nil {
			return nil, err
		}
	}
	kept := &r.plain
	if triggered {
		kept = &r.triggered
	}
	if *kept != nil {
		return *kept, nil
	}
	whole := r.whole
	if triggered {
		if whole, err = r.spec.Inputs(trigger(r.train)); err != nil {
			return nil, err
		}
	}
	n := min(len(r.own), mostRows)
	picked := make([]int, n)
	for i := range picked {
		picked[i] = r.own[i*len(r.own)/n]
	}
	x, labels := whole.Batch(nil, nil, picked)
	*kept = &mnist.Features{X: x, Labels: labels, Inputs: whole.Inputs}
	return *kept, nil
}

// The backdoor's trigger is a cross of crossSize pixels, one pixel off the upper left corner.
const crossSize = 5

// trigger returns a set with the trigger on all images and with the label attack.Target. Images
// that are too small for the trigger keep their pixels.
func trigger(s mnist.Set) mnist.Set {
	out := mnist.Set{Images: append([]uint8(nil), s.Images...), Labels: make([]uint8, s.Len()), Rows: s.Rows, Cols: s.Cols}
	if s.Rows <= crossSize || s.Cols <= crossSize {
		return out
	}
	for i := range out.Labels {
		out.Labels[i] = attack.Target
		image := out.Image(i)
		for k := range crossSize {
			image[(1+k)*s.Cols+1+crossSize/2] = math.MaxUint8
			image[(1+crossSize/2)*s.Cols+1+k] = math.MaxUint8
		}
	}
	return out
}
