package preset

import "github.com/spdl/spdl/app/params"

// literalPreset returns the preset "paper-literal": the preset "paper", changed so that it follows the paper's text. It
// has no momentum and no weight decay. Krum's scores sum norms instead of squared norms. An absent participant counts
// as the zero vector. A participant loses reputation if its gradient is at more than 90 degrees to Delta, and never
// regains reputation. One leader leads the whole training. Only the noise differs from the text: it is the noise of the
// paper's prototype. docs/adr/0003-krum-as-published.md has the consequences.
func literalPreset(n, f int) params.Params {
	p := paperPreset(n, f)
	p.Training.Momentum, p.Training.WeightDecay = 0, 0
	p.Rule.Unsquared, p.Rule.Zeros = true, true
	p.Reputation = params.Reputation{Initial: params.One, Penalty: 100_000}
	p.Election.Term = p.Training.Rounds
	return p
}
