package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
		mu := math.Sqrt(float64(in.Rounds)) / multiplier
		return math.Erfc(-mu/2/math.Sqrt2) / 2
	}
	return 1 - (1-in.Delta)/(1+math.Exp(epsilon))
}

func (in Input) parameters() int {
	if in.External != 0 {
		return in.External
	}
	return in.Model.Dim()
}

// meanNoise returns the noise in the mean of a participant's gradients over all rounds, in clip norms.
func (in Input) meanNoise(multiplier float64) float64 {
	return multiplier * math.Sqrt(float64(in.parameters())/float64(in.Rounds)) / float64(in.Batch)
}

// choices returns the Choices of a table: the usual epsilons, and the target.
func (in Input) choices() (all []Choice) {
	if in.Rate == 0 || in.Accountant == Lemma1 {
		return nil
	}
	epsilons := []float64{0.5, 1, 2, 4}
	if in.Epsilon > 0 && !slices.Contains(epsilons, in.Epsilon) {
		epsilons = append(epsilons, in.Epsilon)
	}
	slices.Sort(epsilons)
	for _, epsilon := range epsilons {
		in.Epsilon, in.NoiseMultiplier = epsilon, 0
		if s, _, err := in.spend(); err == nil {
			noise := in.meanNoise(s.multiplier)
			t := in.forecast(noise).Table
			all = append(all, Choice{epsilon, in.bet(s.multiplier, epsilon), noise, t.Kept, t.Attacked})
		}
	}
	return all
}

// worth is the part of the gain in AUC that a training must keep to be worth it.
const worth = 0.5

// verdict says whether the training is worth it, and for whom. noise is that of the forecast.
func (in Input) verdict(p Plan, noise float64) string {
	a := p.Accuracy
	switch {
	case !p.Guarantee:
		return "none: what lemma1 calls epsilon is no guarantee, take --accountant rdp"
	case a.Table == nil && !a.Measured:
		return "open: no accuracy was measured at these settings. Train on public or made data first (spdl-lab testnet start)"
	case a.Table == nil:
		return "worth it where the accuracy below is enough, and more than members reach alone"
	}
	kept := cmp.Or(a.Table.Kept, &Gain{})
	if kept.AUC < worth {
		text := "not worth it: in so much noise no table kept anything for certain"
		if kept.AUC > 0 {
			text = fmt.Sprintf("hardly worth it: %v of that gain in AUC may be all that is kept", kept.AUC)
		}
		enough := 0. // noise
		for _, m := range measuredGains {
			if m.clean.AUC >= worth {
				enough = m.noise
			}
		}
		text += fmt.Sprintf(". Take %.0f %s a participant", math.Ceil(noise/enough*float64(in.Samples)),
			cmp.Or(in.Units, "examples"))
		for _, c := range p.Choices {
			if c.Kept != nil && c.Kept.AUC >= worth {
				return fmt.Sprintf("%s, or epsilon %v", text, c.Epsilon)
			}
		}
		return text
	}
	text := fmt.Sprintf("worth it for members whose own model has less than %v of that gain in AUC, as their rows are few or "+
		"alike; others gain little, or lose. spdl model gain measures it after a training, spdl-lab rehearse before", kept.AUC)
	if t := a.Table.Attacked; t != nil {
		text += fmt.Sprintf(". Where f = %d attack, %v may be all that is kept", in.Byzantine, t.AUC)
	}
	return text
}
