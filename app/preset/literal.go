package preset

import "github.com/spdl/spdl/app/params"

// literal returns the preset paper with all that the paper's text has otherwise: no momentum and no
// weight decay, sums of norms that are not squared, a silent participant that counts as the zero
// vector, reputation that is lost at more than a right angle to Delta and never earned back, and
// one leader a training. Its noise is the prototype's still. docs/adr/0003-krum-as-published.md
// says what comes of it.
func literal(n, f int) params.Params {
	p := paper(n, f)
	p.Training.Momentum, p.Training.WeightDecay = 0, 0
	p.Rule.Unsquared, p.Rule.Zeros = true, true
	p.Reputation = params.Reputation{Initial: params.One, Penalty: 100_000}
	p.Election.Term = p.Training.Rounds
	return p
}
