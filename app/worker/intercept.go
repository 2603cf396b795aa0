package worker

import (
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// An intercept is a participant's own intercept of a logistic model, which is the last parameter. Where
// sites have different rates, gradients at a common intercept differ by far more than their noise, and
// the rule takes the weight of honest minorities. A participant computes its gradients at its own
// intercept instead, which follows the last coordinate of what it has released. So does what it adds to
// that coordinate: a pull of the common intercept to its own, by which the common one becomes a robust
// mean of all. Both are functions of released vectors and cost no epsilon.
//
// It is kept in memory: after a restart it begins at the common intercept again.
type intercept struct {
	step, rate, limit float64 // grid step, learning rate, and bound of the pull, in gradient units

	releases    int
	own, common float64 // of the round whose gradient was computed last
}

// These are the steps of an intercept and of its pull. See docs/adr/0046-own-intercepts.md for the measurements.
const (
	firstSteps = 4   // the step of the first release, in learning rates; the k-th has 1/k of it, at least 1
	newtonStep = 0.8 // bound of a step, as a share of Newton's
	pullShare  = 0.5 // of the distance of the common intercept from a participant's own
	pullStds   = 2   // bound of the pull, in standard deviations of the noise: the rule sees no more
)

// newIntercept returns an intercept, and nil if the participants of the chain have none of their own:
// models of another kind, and sums, in which the transient of the first rounds stays.
func newIntercept(p params.Params) *intercept {
	if p.Model.Kind != params.ModelLogistic || p.Privacy.WorkerMomentum != 0 {
		return nil
	}
	return &intercept{step: p.Grid.Step, rate: p.Training.LearningRate, limit: pullStds * p.Noise().Std}
}

// place returns x with the participant's own intercept, as a copy.
func (c *intercept) place(x []float64) []float64 {
	last := len(x) - 1
	if c.common = x[last]; c.releases == 0 {
		c.own = c.common
	}
	return append(append([]float64(nil), x[:last]...), c.own)
}

// follow moves the intercept by a released vector, and adds the pull to the vector.
func (c *intercept) follow(v gradients.Vector) {
	last := v.Len() - 1
	c.releases++
	p := 1 / (1 + math.Exp(-params.TableConstant*c.own))
	size := c.rate * max(1, firstSteps/float64(c.releases))
	size = min(size, newtonStep/(params.TableConstant*params.TableConstant*p*(1-p)))
	c.own -= size * float64(v.At(last)) * c.step
	pull := max(-c.limit, min(c.limit, pullShare*(c.common-c.own)/c.rate))
	if math.IsNaN(pull) { // the model has overflowed
		pull = 0
	}
	end := float64(v.Width().Max())
	v.Set(last, int64(max(-end, min(end, math.Round(float64(v.At(last))+pull/c.step)))))
}
