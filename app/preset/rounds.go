package preset

import (
	"cmp"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy/accountant"
)

// fewest and most bound the rounds that roundsFor returns.
const fewest, most = 8, 25

// mostNoise bounds the standard deviation of the noise that a whole training adds to a parameter of the
// model. In the measured trainings it was between 0.1 and this.
const mostNoise = 0.23

// roundsFor returns the number of rounds in which participants train the default preset's model, if every round takes
// all examples. At the same epsilon the noise in a vector grows with the square root of that number, and a share of the
// participants may hide pushes in it, which add up over the rounds. So fewer rounds are better, the greater that share
// and the noise of a single round are. docs/adr/0043-few-rounds.md has the measurements.
func roundsFor(p params.Params, n int) (uint64, error) {
	once, err := accountant.NoiseMultiplier(accountant.Analytic, 1, 1, p.Privacy.Epsilon, Delta)
	hidden := float64(p.Rule.Byzantine) / float64(n) * once / float64(p.Privacy.Batch)
	return uint64(min(max(math.Round(0.15/math.Sqrt(hidden)), fewest), most)), err
}

// scale adapts a preset's parameters to the participants' own data, rounds and epsilon. Batches of a fixed size are
// only bounded by the examples. Otherwise a round takes all examples, with the least noise with which the ledger pays
// for all rounds. The learning rate falls with more rounds than the preset's, and if the noise of the training would
// exceed mostNoise. The default preset's, whose inputs allow long steps, rises with fewer rounds.
func (o Own) scale(p *params.Params, n int) (err error) {
	examples, rounds := uint32(o.Share(n)), p.Training.Rounds
	if p.Privacy.SamplingRate == 0 {
		if o.Data != nil || o.Examples > 0 {
			p.Privacy.Batch = min(p.Privacy.Batch, examples)
		}
		SetRounds(p, cmp.Or(o.Rounds, rounds))
		return nil
	}
	p.Privacy.Epsilon, p.Privacy.Batch = cmp.Or(o.Epsilon, p.Privacy.Epsilon), examples
	least := rounds
	if p.Model.Features.Name == params.FeaturesStrokes {
		least = fewest
		if rounds, err = roundsFor(*p, n); err != nil {
			return err
		}
	}
	SetRounds(p, cmp.Or(o.Rounds, rounds))
	if err = leastNoise(p); err != nil {
		return err
	}
	t, noise := p.Training.Rounds, p.Privacy.NoiseMultiplier/float64(examples)
	p.Training.LearningRate = min(p.Training.LearningRate*float64(rounds)/float64(max(t, least)),
		mostNoise*math.Sqrt(float64(n)/float64(t))/noise)
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}
