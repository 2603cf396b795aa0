package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// TableForecast says what a model of a table with two classes can be expected to reach. How well the columns tell
// the classes apart is not public before a training, so it is in parts of what logistic regression without
// privacy, on all rows, gains over guessing the rate.
type TableForecast struct {
	Rate  float64 `json:"rate"`       // typical rate of the second class
	Guess float64 `json:"guess"`      // accuracy of the class that is more frequent
	Brier float64 `json:"rate_brier"` // Brier score of the rate as the probability
	// Kept and Attacked are the least parts of that gain which a training kept, without attack and with f
	// attackers. They are null if no training had so much noise, Attacked also if f is 0.
	Kept     *Gain `json:"kept"`
	Attacked *Gain `json:"kept_attacked"`
}

// Gain is a part of a gain: in AUC over 0.5, and in Brier score below the rate's. Below 0 a model is worse than
// the rate.
type Gain struct {
	AUC   float64 `json:"auc"`
	Brier float64 `json:"brier"`
}

// measuredGains has the least parts that the trainings of docs/TABLES.md kept, by the noise in the mean of a
// participant's gradients, in clip norms. TestTableForecast compares them with that page.
var measuredGains = []struct {
	noise           float64
	clean, attacked Gain
}{
	{0.03, Gain{0.9, 0.65}, Gain{0.7, 0.35}},
	{0.1, Gain{0.75, 0.5}, Gain{0.5, -0.35}},
	{0.3, Gain{0.35, 0.1}, Gain{0, -1.25}},
	{0.6, Gain{0.15, 0}, Gain{0, -1.25}},
}

// forecast returns the accuracy of a table's model with the given noise in the mean of a participant's gradients.
func (in Input) forecast(noise float64) Accuracy {
	t := &TableForecast{Rate: in.Rate, Guess: max(in.Rate, 1-in.Rate), Brier: in.Rate * (1 - in.Rate)}
	if in.Rounds < in.Full {
		return Accuracy{Table: t, Source: fmt.Sprintf("no table was measured with fewer than %d rounds", in.Full)}
	}
	for _, m := range measuredGains {
		if noise > m.noise {
			continue
		}
		if t.Kept = &m.clean; in.Byzantine > 0 {
			t.Attacked = &m.attacked
		}
		return Accuracy{Table: t, Source: fmt.Sprintf("the least of the seven tables of docs/TABLES.md (N = 4 and 10) with "+
			"noise to gradient up to %v; a table that is harder than they are may keep less", m.noise)}
	}
	return Accuracy{Table: t, Source: fmt.Sprintf("noise to gradient is above %v: no table kept anything for certain",
		measuredGains[len(measuredGains)-1].noise)}
}

// cells formats a gain for two columns of a table.
func (g *Gain) cells() string {
	switch {
	case g == nil:
		return "nothing\tnothing"
	case g.Brier < 0:
		return fmt.Sprintf("%v\tworse than guessing", g.AUC)
	}
	return fmt.Sprintf("%v\t%v", g.AUC, g.Brier)
}

// Choice says what an epsilon bounds, and what it keeps of a table's model.
type Choice struct {
	Epsilon float64 `json:"epsilon"`
	// Bet is the greatest chance of an attacker to be right who knows all data but one unit, sees all that is public,
	// and bets whether the unit is in the data, where both are equally likely before.
	Bet      float64 `json:"bet"`
	Noise    float64 `json:"noise_to_gradient"` // in the mean of a participant's gradients over all rounds
	Kept     *Gain   `json:"kept"`              // as in TableForecast
	Attacked *Gain   `json:"kept_attacked"`
}

// bet returns the Bet of a noise multiplier. Rounds that take all examples are together one Gaussian, with and without
// the unit at a distance of mu, so it is Phi(mu/2). Otherwise (epsilon, delta) bounds it: a bet that is wrong with
// chance a in both cases has 1-a <= exp(epsilon) a + delta.
func (in Input) bet(multiplier, epsilon float64) float64 {
	if in.SamplingRate == 1 {
		return math.Erfc(-in.mu(multiplier)/2/math.Sqrt2) / 2
	}
	return 1 - (1-in.Delta)/(1+math.Exp(epsilon))
}

// mu returns the mu of Gaussian differential privacy of all rounds, where each takes all examples.
func (in Input) mu(multiplier float64) float64 { return math.Sqrt(float64(in.Rounds)) / multiplier }

// meanNoise returns the noise in the mean of a participant's gradients over all rounds, in clip norms.
func (in Input) meanNoise(multiplier float64) float64 {
	d := cmp.Or(in.External, in.Model.Dim())
	return multiplier * math.Sqrt(float64(d)/float64(in.Rounds)) / float64(in.Batch)
}

// choices returns the Choices of a table: the usual epsilons, and the target.
func (in Input) choices() (all []Choice) {
	if in.Rate == 0 || in.Accountant == Lemma1 {
		return nil
	}
	epsilons := []float64{0.5, 1, 2, 4, cmp.Or(in.Epsilon, 1)}
	slices.Sort(epsilons)
	for _, epsilon := range slices.Compact(epsilons) {
		in.Epsilon, in.NoiseMultiplier = epsilon, 0
		if s, _, err := in.spend(); err == nil {
			noise := in.meanNoise(s.multiplier)
			t := in.forecast(noise).Table
			all = append(all, Choice{epsilon, in.bet(s.multiplier, epsilon), noise, t.Kept, t.Attacked})
		}
	}
	return all
}

// notWorth begins a verdict against a training.
const notWorth = "not worth it: "

// enough is the noise up to which every table kept half of the gain in AUC or more.
const enough = 0.1

// verdict says whether the training is worth it, and for whom, by the noise of all rounds.
func (in Input) verdict(p Plan) string {
	t, noise := p.Accuracy.Table, p.MeanNoise
	switch {
	case !p.Guarantee:
		return "none: what lemma1 calls epsilon is no guarantee, take --accountant rdp"
	case t == nil && noise > drowning:
		return notWorth + fmt.Sprintf("noise of %.2g clip norms in the mean of all rounds, above %v, drowns the "+
			"gradient", noise, drowning)
	case t == nil && !p.Accuracy.Measured:
		return "open: no accuracy was measured at these settings. Train on public or made data first"
	case t == nil:
		return "worth it where the accuracy below is enough, and more than members reach alone"
	case noise > enough:
		text := notWorth + fmt.Sprintf("noise of %.2g clip norms in the mean of all rounds may leave nothing of what the "+
			"data say. To keep half of that in AUC take %.0f %s a participant", noise,
			math.Ceil(noise/enough*float64(in.Samples)), p.Units)
		for _, c := range p.Choices {
			if c.Noise <= enough {
				return fmt.Sprintf("%s, or epsilon %v", text, c.Epsilon)
			}
		}
		return text
	case p.Rounds < p.Full:
		return fmt.Sprintf("open: %d rounds end before the %d that this noise allows, and no table was measured so. Leave "+
			"--rounds out, or measure by spdl-lab rehearse --rounds %d", p.Rounds, p.Full, p.Rounds)
	}
	text := fmt.Sprintf("worth it for members whose own model has less than %v of that gain in AUC, as their rows are "+
		"few or alike; others gain little, or lose. spdl-lab rehearse measures it before a training, spdl model gain after",
		t.Kept.AUC)
	if t.Attacked != nil {
		text += fmt.Sprintf(". Where f = %d attack, %v may be all that is kept", in.Byzantine, t.Attacked.AUC)
	}
	return text
}

// sites returns a sentence for each size of a site. A site samples at the chain's rate and adds the chain's noise. Its
// vector is as much longer as it has more rows than the batch is for, up to the clip norm.
func (in Input) sites(p Plan) (all []string) {
	full := float64(in.Batch) / in.SamplingRate
	for _, n := range slices.Compact(slices.Sorted(slices.Values(in.Sites))) {
		weight, says := float64(n)/full, ""
		switch {
		case weight < 0.5:
			says = ": it adds little"
		case weight > 2:
			says = ", which the clip norm bounds: the others gain more than it"
		case weight > 1:
			says = ", which the clip norm bounds"
		}
		all = append(all, fmt.Sprintf("%d %s: counts up to %.2g times as much as one of %.0f, noise %.3g times as long as "+
			"its contribution can be%s", n, p.Units, weight, full, p.NoiseToGradient/min(weight, 1), says))
	}
	return all
}
