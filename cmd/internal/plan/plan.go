package plan

import (
	"cmp"
	"math"

	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/accountant"
)

// Plan predicts the cost and the result of the training that an [Input] describes.
type Plan struct {
	Participants int      `json:"participants"`
	Byzantine    int      `json:"byzantine"`
	Model        string   `json:"model"`
	Parameters   int      `json:"parameters"`
	Samples      int      `json:"samples"`
	Units        string   `json:"units"`      // the noun for what Samples counts: "examples" or "groups"
	Unit         string   `json:"unit"`       // the unit of privacy, with the column of a table that names its groups
	Neighbours   string   `json:"neighbours"` // a sentence that says which data sets count as neighbours for Epsilon
	Public       []string `json:"public"`     // of the parameters, as Public lists it; [Make] leaves it empty
	SamplingRate float64  `json:"sampling_rate"`
	Batch        int      `json:"batch"`
	Clip         float64  `json:"clip"`
	Momentum     float64  `json:"worker_momentum"`
	Rounds       int      `json:"rounds"`
	Full         int      `json:"full_rounds,omitempty"` // as in Input: with fewer rounds no table was measured

	Accountant accountant.Method `json:"accountant"`
	// Epsilon is the epsilon that Accountant computes for one participant over all rounds. It is a
	// guarantee unless Accountant is lemma1.
	Epsilon         float64 `json:"epsilon"`
	Delta           float64 `json:"delta"`
	NoiseMultiplier float64 `json:"noise_multiplier"`
	RDPEpsilon      float64 `json:"rdp_epsilon"`
	Guarantee       bool    `json:"guarantee"` // whether Epsilon is a guarantee
	// Mu is that of Gaussian differential privacy (Dong, Roth and Su 2022); null where rounds sample, which have none.
	Mu *float64 `json:"mu"`

	SumStd       float64 `json:"noise_std_sum"`       // sigma = z*C: the noise's std on each coordinate of a batch's sum
	SubmittedStd float64 `json:"noise_std_submitted"` // the noise's std on each submitted coordinate, after momentum
	GridStep     float64 `json:"grid_step"`
	// NoiseToGradient is the norm of the noise in a submitted vector divided by the clip norm, in which attackers hide.
	// The clip norm bounds the norm of the gradient before noise, so the true ratio is at least this value. If vectors
	// are sums, it is MeanNoise, and SubmittedStd is that of the first.
	NoiseToGradient float64 `json:"noise_to_gradient"`
	// MeanNoise is that of the mean of a participant's gradients over all rounds, which decides what the model learns.
	MeanNoise float64 `json:"mean_noise_to_gradient"`
	// HiddenPush is the part of the model's greatest way, rounds x learning rate x clip norm, by which f attackers
	// that hide in the noise may displace the model: a heuristic and no bound (docs/adr/0043-few-rounds.md).
	HiddenPush float64 `json:"hidden_push"`

	Rule     Rule         `json:"rule"`
	Accuracy Accuracy     `json:"accuracy"`
	Traffic  Traffic      `json:"traffic"`
	Round    *Round       `json:"round"` // null if Input.Link.Rate is 0
	Config   Config       `json:"config"`
	Ledger   Ledger       `json:"ledger"`
	Lemma1   *Calibration `json:"lemma1"`            // null if the accountant cannot compute the noise of Lemma 1
	Bet      float64      `json:"bet"`               // see Choice
	Choices  []Choice     `json:"choices,omitempty"` // of epsilon, for a table
	Verdict  string       `json:"verdict"`           // whether such a training is worth it, and for whom
	Sites    []string     `json:"sites,omitempty"`   // what each site says, where they differ in size
	Warnings []string     `json:"warnings"`
}

// Rule is the aggregation rule, and whether its theorem covers the consortium.
type Rule struct {
	Name  string `json:"name"`
	Holds bool   `json:"condition_holds"`
	Why   string `json:"why,omitempty"` // why the theorem does not cover the consortium; empty if Holds
}

// Make returns the plan for an input. It fails with ErrInput for an invalid input, and with
// accountant.ErrParameter if the accountant cannot compute a result.
func Make(in Input) (Plan, error) {
	in, rule, err := in.fillIn()
	if err != nil {
		return Plan{}, err
	}
	s, ledger, err := in.spend()
	if err != nil {
		return Plan{}, err
	}
	config := privacy.Config{
		Kind: privacy.Gaussian, Clip: in.Clip, NoiseMultiplier: s.multiplier, ExpectedBatch: float64(in.Batch),
		Momentum: in.Momentum,
	}
	if err := config.Validate(); err != nil {
		return Plan{}, err
	}
	d, name := in.External, "external"
	if d == 0 {
		d, name = in.Model.Dim(), in.Model.String()
	}
	p := Plan{
		Participants: in.Participants, Byzantine: in.Byzantine, Model: name, Parameters: d,
		Samples: in.Samples, Units: in.units(), Unit: in.Unit, Neighbours: in.Neighbours,
		SamplingRate: in.SamplingRate, Batch: in.Batch, Clip: in.Clip, Momentum: in.Momentum,
		Rounds: in.Rounds, Full: in.Full,
		Accountant: in.Accountant, Epsilon: s.epsilon, Delta: in.Delta, NoiseMultiplier: s.multiplier, RDPEpsilon: s.rdp,
		Guarantee: in.Accountant != Lemma1,
		SumStd:    s.multiplier * in.Clip, SubmittedStd: privacy.FinalStd(config), GridStep: privacy.StepFor(config),
		NoiseToGradient: privacy.FinalStd(config) * math.Sqrt(float64(d)) / in.Clip,
		MeanNoise:       in.meanNoise(s.multiplier),
		Rule:            Rule{Name: rule.Name(), Holds: true}, Traffic: in.traffic(d), Ledger: ledger, Config: in.Config,
	}
	if err := rule.Condition(in.Participants, in.Byzantine); err != nil {
		p.Rule.Holds, p.Rule.Why = false, err.Error()
	}
	if in.SamplingRate == 1 {
		mu := in.mu(s.multiplier)
		p.Mu = &mu
	}
	if in.Momentum == 1 {
		p.NoiseToGradient = p.MeanNoise
	}
	p.HiddenPush = stealth * float64(in.Byzantine) / float64(in.Participants) * p.NoiseToGradient
	p.Accuracy = in.accuracy(s.multiplier, p.MeanNoise)
	p.Round = in.round(d, p.Traffic)
	lasts := in.RoundTime.Seconds()
	if lasts == 0 {
		lasts = p.Round.Seconds
	}
	p.Traffic = p.Traffic.inRounds(lasts, in.Rounds)
	if c, err := in.compare(cmp.Or(in.Epsilon, s.epsilon)); err == nil {
		p.Lemma1 = &c
	}
	p.Bet, p.Choices = in.bet(s.multiplier, guaranteedEpsilon(p)), in.choices()
	p.Verdict, p.Sites, p.Warnings = in.verdict(p), in.sites(p), in.warnings(p)
	return p, nil
}

// spend returns the accountant's result and the chain's ledger. The ledger has fewer orders than the
// RDP accountant and rounds each cost up, so the ledger's epsilon is higher. For a target epsilon and
// the accountant that comes closest to the ledger, spend therefore raises the noise until the target
// epsilon pays for all rounds in the ledger. It does so only if less than twice the noise is enough.
func (in Input) spend() (privacyCost, Ledger, error) {
	s, err := in.account()
	if err != nil {
		return s, Ledger{}, err
	}
	target := in.Epsilon
	if in.Accountant == Lemma1 {
		target = 0
	}
	ledger, err := in.ledger(s.multiplier, target)
	if err != nil || in.Accountant != in.nearest() || ledger.LeastMultiplier == 0 {
		return s, ledger, err
	}
	raised := in
	raised.Epsilon, raised.NoiseMultiplier = 0, math.Ceil(ledger.LeastMultiplier*1000)/1000
	if s, err = raised.account(); err != nil {
		return s, ledger, err
	}
	ledger, err = raised.ledger(s.multiplier, target)
	return s, ledger, err
}
