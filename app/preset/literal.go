package preset

import "github.com/spdl/spdl/app/params"

// literal returns the preset paper, changed wherever the paper's text differs from it: no momentum
// and no weight decay, sums of norms that are not squared, the zero vector for a silent
// participant, a reputation that falls at more than a right angle to Delta and never rises, and one
// leader for a training. Its noise is still the prototype's. docs/adr/0003-krum-as-published.md has
// the consequences.
func literal(n, f int) params.Params {
	p := paper(n, f)
	p.Training.Momentum, p.Training.WeightDecay = 0, 0
	p.Rule.Unsquared, p.Rule.Zeros = true, true
	p.Reputation = params.Reputation{Initial: params.One, Penalty: 100_000}
	p.Election.Term = p.Training.Rounds
	return p
}
