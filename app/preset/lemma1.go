package preset

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy/accountant"
)

// lemma1Clip is the clip norm for the noise of Lemma 1. The lemma assumes that a gradient's norm is at most C, which
// holds only if gradients are clipped. At the initial model the norms of the examples' gradients are about 42. Of the
// clip norms 1, 10, 40 and 100, the clip norm 10 gives an error close to the lowest (docs/REPRODUCTION.md).
const lemma1Clip = 10

// lemma1 returns the preset paper-lemma1: the preset paper-literal with the noise of Lemma 1 for the paper's epsilon.
func lemma1(n, f int) params.Params {
	p := literalPreset(n, f)
	WithLemma1(&p, 0.02)
	return p
}

// WithLemma1 sets the noise of the paper's Lemma 1 in p, parameters of the preset paper or
// paper-literal. claim is the epsilon that the lemma claims for this noise. The caller must then
// call [Account], which computes the noise multiplier.
func WithLemma1(p *params.Params, claim float64) {
	p.Privacy.Mechanism, p.Privacy.PrototypeEpsilon = params.MechanismGaussian, 0
	p.Privacy.Clip, p.Privacy.Lemma1Epsilon, p.Privacy.Epsilon = lemma1Clip, claim, 0
}

// calibrate sets the noise of Lemma 1, and the grid step that fits this noise. It does nothing for
// parameters without a Lemma1Epsilon.
func calibrate(p *params.Params) error {
	if p.Privacy.Lemma1Epsilon == 0 {
		return nil
	}
	z, err := lemma1Multiplier(*p)
	if err != nil {
		return err
	}
	p.Privacy.NoiseMultiplier = z
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}

// lemma1Multiplier returns the noise multiplier that Lemma 1 requires.
func lemma1Multiplier(p params.Params) (float64, error) {
	c, err := accountant.Lemma1{
		Sensitivity: 1, LearningRate: p.Training.LearningRate, Rounds: int(min(p.Training.Rounds, math.MaxInt32)),
		Epsilon: p.Privacy.Lemma1Epsilon, Delta: p.Privacy.Delta,
	}.Calibrate(1)
	return c.NoiseMultiplier, err
}

// checkLemma1 rejects parameters that declare the noise of Lemma 1 and have another noise multiplier.
func checkLemma1(p params.Params) error {
	if p.Privacy.Lemma1Epsilon == 0 {
		return nil
	}
	z, err := lemma1Multiplier(p)
	if err == nil && math.Abs(p.Privacy.NoiseMultiplier-z) > z/1e12 { // math.Log differs between machines
		err = fmt.Errorf("privacy.noise_multiplier is %g, and Lemma 1 asks for %g to claim privacy.lemma1_epsilon %g for "+
			"%d rounds at learning rate %g",
			p.Privacy.NoiseMultiplier, z, p.Privacy.Lemma1Epsilon, p.Training.Rounds, p.Training.LearningRate)
	}
	return err
}
