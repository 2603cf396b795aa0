package preset

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
)

// facts are what is public of a linear model of a table before its training: its inputs, the typical rate, and the
// weights of the classes. docs/TABLES.md has the measurements behind the numbers.
type facts struct {
	length    float64 // typical distance of a row's inputs from 0
	clip      float64
	curvature float64 // of the mean loss along the direction in which it is largest
	weight    float64 // mean weight of an example
	single    bool    // vectors are single gradients however much noise they have (ADR 44: features of images)
}

// factsOf returns the facts of a centred linear model.
func factsOf(m params.Model) facts {
	inputs, classes := float64(m.Table.Inputs()), float64(m.Classes)
	f := facts{length: 0.45 * math.Sqrt(inputs+params.TableConstant*params.TableConstant), weight: 1}
	square := f.length * f.length
	share := func(int) float64 { return 1 / classes }
	if m.Kind == params.ModelLogistic {
		rate := m.Table.WeightedRate()
		// Rows of a rare class have gradients of almost the row's length. They are not to be cut alone.
		f.clip = (0.4 + 0.4*max(0, 1-4*min(rate, 1-rate))) * f.length
		f.curvature = 0.15 * max(0.3, 4*rate*(1-rate)) * square
		share = func(class int) float64 { return math.Abs(float64(1-class) - m.Table.TypicalRate()) }
	} else {
		// At the start a row's gradient has sqrt(1-1/classes) times the row's length, where that of two
		// classes with one output has a half, and the curvature of a softmax is at most twice that.
		f.clip, f.curvature = 0.8*math.Sqrt(1-1/classes)*f.length, 0.3*square
	}
	if w := m.Table.Weights; len(w) > 0 {
		f.weight = 0
		for class, x := range w {
			f.weight += share(class) * x / slices.Max(w)
		}
	}
	return f
}

// littleNoise is the most noise in the mean of a participant's gradients, in clip norms, with which a table's vectors
// are single gradients.
const littleNoise = 0.01

// fitTable sets the training of a linear model of a table of n participants from public facts. A round takes all
// rows, so the ledger counts it exactly. The model moves for as long as the noise of all rounds allows, in steps that
// the curvature allows.
//
// With much noise vectors are sums, so what a participant pushes in several rounds does not add up (ADR 44), and where
// attackers may hide in it the training takes fewer steps: directions in which the rows say little are theirs. With
// little noise honest sums' differences would stick out of it, single gradients' do not (ADR 46), and little hides.
func fitTable(p *params.Params, own Own, n int) error {
	p.Grid.Width = uint32(gradients.Int16)
	return factsOf(p.Model).fit(p, own, n)
}

// headFacts returns the facts of a softmax regression on features. norm bounds a row's inputs. At the start the
// curvature is 1/classes times the largest eigenvalue of the inputs' second moment, a share of norm^2: 0.27 where
// features were centred at their own mean, and up to 0.6 at that of other, public data (docs/LAB.md).
func headFacts(norm, classes float64) facts {
	return facts{length: norm, clip: 0.7 * math.Sqrt(1-1/classes) * norm, curvature: 0.5 * norm * norm / classes,
		weight: 1, single: true}
}

// fit sets momentum, batch, clip norm, noise, rounds and learning rate of a linear model of which these are the facts.
func (f facts) fit(p *params.Params, own Own, n int) error {
	rows := own.Share(n)
	p.Privacy.SamplingRate, p.Privacy.WorkerMomentum = 1, 0
	p.Privacy.Batch, p.Privacy.Clip = uint32(rows), readable(f.clip)
	p.Privacy.Epsilon = cmp.Or(own.Epsilon, p.Privacy.Epsilon)
	budget, err := accountant.ChainBudget(p.Privacy.Epsilon, cmp.Or(p.Privacy.Delta, Delta))
	if err != nil {
		return err
	}
	mu := math.Sqrt(float64(budget[params.LedgerColumns-1]) * 1e-12)
	time, step, most := f.way(*p, mu, rows, n)
	if !f.single && isNoisy(*p, mu, rows) {
		p.Privacy.WorkerMomentum = 1
	}
	rounds := cmp.Or(float64(own.Rounds), min(max(math.Ceil(time/step), 8), most))
	SetRounds(p, uint64(rounds))
	p.Training.LearningRate = readable(min(step, time/rounds) / f.weight)
	if err := leastNoise(p); err != nil {
		return err
	}
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}

// way returns for how long the noise of all rounds lets a model of n participants move, the longest step, and the most
// rounds. mu is that of all rounds, and rows of a participant.
func (f facts) way(p params.Params, mu float64, rows, n int) (time, step, most float64) {
	noise := f.clip / (mu * float64(rows) * math.Sqrt(float64(n)) * f.weight) // of the mean gradient of all rounds
	if most = 64; p.Rule.Byzantine > 0 && isNoisy(p, mu, rows) {
		most = 24
	}
	const reach = 0.9
	return reach / (noise * f.length), 1.6 / f.curvature, most
}

// isNoisy reports whether the mean of a participant's gradients has more than littleNoise.
func isNoisy(p params.Params, mu float64, rows int) bool {
	return math.Sqrt(float64(p.Model.Dim()))/(mu*float64(rows)) > littleNoise
}

// FullRounds returns the rounds that the preset takes at least for a centred linear model of n participants with the
// noise and the batch of p: with fewer it ends before its noise asks for it. It is 0 for other models.
func FullRounds(p params.Params, n int) int {
	if !p.Model.Centred() || p.Model.Kind == params.ModelMLP || p.Privacy.SamplingRate != 1 {
		return 0
	}
	mu := math.Sqrt(float64(p.Training.Rounds)) / p.Privacy.NoiseMultiplier
	time, step, most := factsOf(p.Model).way(p, mu, int(p.Privacy.Batch), n)
	return int(min(math.Ceil(time/step), most))
}

// readable returns x with three digits, as people read it in genesis.
func readable(x float64) float64 {
	scale := math.Pow(10, 2-math.Floor(math.Log10(x)))
	return math.Round(x*scale) / scale
}

// leastTime is the least length of a training of a table, rounds x learning rate, in units of 1/curvature.
const leastTime = 4

// StopsEarly returns a warning if the training of a table ends long before the model has reached the
// data, with noise or without it, and an empty string if it does not.
func StopsEarly(p params.Params) string {
	if !p.Model.Centred() || p.Model.Kind == params.ModelMLP {
		return ""
	}
	f := factsOf(p.Model)
	time := float64(p.Training.Rounds) * p.Training.LearningRate * f.weight * f.curvature
	if time >= leastTime {
		return ""
	}
	return fmt.Sprintf("the training stops early: %d rounds at learning rate %.3g are %.2g times 1/curvature, want at "+
		"least %d: probabilities stay near the rate; more rounds, or more examples or a larger epsilon, with which the "+
		"preset takes longer steps", p.Training.Rounds, p.Training.LearningRate, time, leastTime)
}
