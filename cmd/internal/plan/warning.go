package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// largeNoise is the mean noise above which accuracy suffers, drowning that above which no table is trained.
// docs/PRIVACY.md ("Planning") has the measurement: at one mean noise 8 to 80 rounds had about the same accuracy.
const largeNoise, drowning = 0.25, preset.MaxMeanNoise

// stealth is the part of the noise's norm that a hidden push has: about a half stays hidden from agnostic-mean
// (docs/RULES.md). largePush is the HiddenPush above which accuracy suffers: at 0.024 the default preset lost 0.009
// (N = 20, epsilon 1), at 0.01 0.002.
const stealth, largePush = 0.5, 0.02

// rareRate is the rate of a class of a table up to which attacked models of sums of gradients had a lower accuracy than
// the guess that leaves the class out: there is little to gain over it (docs/TABLES.md, "Before a training").
const rareRate = 0.2

// warnings returns warnings about the settings that do not suit the training, each with a remedy.
func (in Input) warnings(p Plan) []string {
	out := []string{} // never null in JSON
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	if !p.Guarantee {
		add("lemma1 is the paper's formula, not a guarantee: with this noise epsilon is %.4g by RDP, and %.4g if the "+
			"batches are not secret; take --accountant rdp",
			p.RDPEpsilon, p.Lemma1.RDPEpsilonQ1)
	}
	if !p.Rule.Holds {
		add("%s: %s", p.Rule.Why, in.remedies())
	}
	if warning := in.noiseWarning(p); warning != "" {
		add("%s", warning)
	}
	if rare := min(in.Rate, 1-in.Rate); in.Byzantine > 0 && in.Momentum == 1 && rare > 0 && rare <= rareRate {
		add("one class is rare, %.3g of the rows: f = %d attackers that hide in noise of %.2g times the clip norm may bring "+
			"the accuracy below the %.3g of guessing the other class: more %s, or a larger epsilon", rare, in.Byzantine,
			p.NoiseToGradient, 1-rare, p.Units)
	}
	if p.RDPEpsilon > params.WeakEpsilon && (p.Epsilon > params.WeakEpsilon || !p.Guarantee) {
		add("epsilon %.4g is weak, at most %v says something: more noise, fewer rounds, or more %s at a smaller "+
			"sampling rate", guaranteedEpsilon(p), params.WeakEpsilon, p.Units)
	}
	if most := 1 / float64(in.Samples); in.Delta > most {
		add("delta %v is above 1/%s = %.2g: publishing %s in full would be within it; take %.0e or less",
			in.Delta, p.Units, most, p.unit(), most/10)
	}
	if l := p.Ledger; l.Rounds != nil && *l.Rounds < uint64(in.Rounds) {
		cure := fmt.Sprintf("a budget of epsilon %.4g", up(l.Epsilon))
		if l.LeastMultiplier > 0 {
			cure += fmt.Sprintf(" or a noise multiplier of %.4g", up(l.LeastMultiplier))
		}
		add("the chain's ledger pays for %d of %d rounds with a budget of epsilon %v: %s", *l.Rounds, in.Rounds,
			in.Epsilon, cure)
	}
	if in.Fits != 0 {
		cure := fmt.Sprintf("--examples %d", in.Samples)
		if p.Units == "groups" {
			cure = "--data and --group of such a table, or " + cure + ", which counts groups"
		}
		add("the preset's batch is for %d %s a participant, not for %d: make the genesis with %s, or "+
			"steps take longer and count no more, or count less",
			in.Fits, p.Units, in.Samples, cure)
	}
	if !in.NoiseFloor {
		add("no noise floor: a vector without noise is admitted, and by distance it can beat the honest ones; no accuracy " +
			"under attack is stated")
	}
	return append(out, p.Round.configWarnings(in)...)
}

// noiseWarning says that noise drowns the gradient, or else that attackers can hide in it.
func (in Input) noiseWarning(p Plan) string {
	switch r := p.MeanNoise; {
	case r > largeNoise && p.Accuracy.Table == nil: // of a table the verdict says what would do
		batch := math.Ceil(float64(in.Batch) * r / largeNoise)
		parameters := math.Floor(float64(p.Parameters) * (largeNoise / r) * (largeNoise / r))
		smaller := ""
		if parameters > 0 {
			smaller = fmt.Sprintf("a model of at most %.0f parameters, ", parameters)
		}
		return fmt.Sprintf("noise in the mean of all rounds is %.2g times the clip norm, above %v it costs points of "+
			"accuracy, above %v it drowns the gradient: %.0f %s a participant (a batch of %.0f), %sor a larger epsilon", r,
			largeNoise, drowning, math.Ceil(batch/in.SamplingRate), p.Units, batch, smaller)
	case p.HiddenPush > largePush:
		cure := "fewer rounds or a larger epsilon"
		if in.Momentum == 1 { // a sum has the noise of all rounds once
			cure = "or a larger epsilon"
		}
		return fmt.Sprintf("f = %d attackers that hide in the noise displace the model by about %.2g of its greatest way, "+
			"rounds x learning rate x clip norm, above %v accuracy suffers: more %s, %s", in.Byzantine, p.HiddenPush,
			largePush, p.Units, cure)
	}
	return ""
}

// guaranteedEpsilon returns the epsilon that is proven: with the accountant lemma1 the epsilon by
// RDP, with every other accountant the plan's epsilon.
func guaranteedEpsilon(p Plan) float64 {
	if p.Guarantee {
		return p.Epsilon
	}
	return p.RDPEpsilon
}

// remedies describes the changes of participants, rule or f after which the rule's theorem would cover the consortium.
func (in Input) remedies() string {
	uncovered := func(name string, n int) bool {
		rule, err := rules.Lookup(name)
		return err != nil || rule.Condition(n, in.Byzantine) != nil
	}
	var cures []string
	n := in.Participants + 1
	for n <= gradients.MaxParticipants && uncovered(in.Rule, n) {
		n++
	}
	if n <= gradients.MaxParticipants {
		cures = append(cures, fmt.Sprintf("%d participants", n))
	}
	if fit := slices.DeleteFunc(rules.Names(), func(name string) bool {
		return uncovered(name, in.Participants)
	}); len(fit) > 0 {
		cures = append(cures, "rule "+strings.Join(fit, " or "))
	}
	return "take " + strings.Join(append(cures, "a smaller f"), ", or ")
}
