package preset

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
)

// ErrScarce means that tables have too few rows for their epsilon.
var ErrScarce = errors.New("too few rows for their epsilon")

// These are the max norms of noise, in clip norms, with which a table is trained: in a submitted vector, and if
// vectors are sums in the mean of a participant's gradients (docs/TABLES.md, "Too few rows").
const maxVectorNoise, MaxMeanNoise = 1, 0.6

// CheckTable returns ErrScarce if the tables of n participants are too small for their epsilon: if the noise in a
// submitted vector, after the worker's momentum, or in the mean gradient of a sum is too long beside the clip norm,
// which bounds the gradient in it. Attackers that hide in such noise decide the result. With f = 0 there are no
// attackers, and it considers the noise in the mean of n participants. It accepts every chain without a table or noise.
//
// examples is the number of a participant's examples or groups, for the error's text. If it is 0, the text has the
// number for which batch and sampling rate are meant. It also names a number of these, and an epsilon, that are enough.
func CheckTable(p params.Params, n, examples int) error {
	if p.Model.Table == nil || p.Privacy.Mechanism != params.MechanismGaussian {
		return nil
	}
	noise := worker.NoiseStd(p) * math.Sqrt(float64(p.Model.Dim())) / p.Privacy.Clip
	where, most := "a submitted vector", float64(maxVectorNoise)
	if p.Privacy.Sums() {
		where, most = "the mean of a participant's gradients", MaxMeanNoise
	}
	why := fmt.Sprintf("attackers that hide in it, f = %d, decide the result", p.Rule.Byzantine)
	if p.Rule.Byzantine == 0 {
		noise /= math.Sqrt(float64(n))
		where, why = fmt.Sprintf("the mean of %d participants", n), "the model follows the noise"
	}
	if noise <= most {
		return nil
	}
	excess, rate := noise/most, cmp.Or(p.Privacy.SamplingRate, 1) // 1 for a batch of fixed size
	cure := fmt.Sprintf("%.0f %s each are the least that train", math.Ceil(math.Ceil(float64(p.Privacy.Batch)*excess)/
		rate), p.Privacy.Units())
	if epsilon, err := epsilonWith(p, p.Privacy.NoiseMultiplier/excess); err == nil {
		cure += fmt.Sprintf(", or epsilon %.4g with these", epsilon)
	}
	have := fmt.Sprint(examples)
	if examples == 0 {
		have = fmt.Sprintf("about %.0f", math.Round(float64(p.Privacy.Batch)/rate))
	}
	return fmt.Errorf("%w: with %s %s of each participant and epsilon %.4g the noise in %s is %.3g times the "+
		"clip norm, above %g, and %s: %s; --force trains all the same", ErrScarce, have, p.Privacy.Units(),
		p.Privacy.Epsilon, where, noise, most, why, cure)
}

// epsilonWith returns the epsilon that pays for all rounds with at most the given noise multiplier.
func epsilonWith(p params.Params, multiplier float64) (float64, error) {
	p.Privacy.NoiseMultiplier, p.Privacy.Epsilon, p.Privacy.Lemma1Epsilon = math.Floor(multiplier*1000)/1000, 0, 0
	err := Account(&p)
	return p.Privacy.Epsilon, err
}
