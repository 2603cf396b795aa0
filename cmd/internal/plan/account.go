package plan

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// A plan knows two more accountants than package accountant. GDP is another name of Analytic. Lemma1 is the formula of
// the SPDL paper, which proves no epsilon: a plan by Lemma1 says NO GUARANTEE.
const (
	GDP    accountant.Method = "gdp"
	Lemma1 accountant.Method = "lemma1"
)

// Accountants returns the names of the accountants.
func Accountants() []string {
	return []string{string(accountant.RDP), string(accountant.PLD), string(accountant.Analytic), string(GDP),
		string(Lemma1)}
}

// prototypeLearningRate is the learning rate, gamma, of the paper's prototype. The paper states no learning rate.
const prototypeLearningRate = 0.01

// Calibration compares the noise that the paper's Lemma 1 requires with the noise that the RDP accountant requires.
type Calibration struct {
	ClaimedEpsilon  float64 `json:"claimed_epsilon"`
	LearningRate    float64 `json:"learning_rate"`    // gamma; the noise of a correct lemma would not depend on it
	NoiseMultiplier float64 `json:"noise_multiplier"` // the multiplier that the lemma requires
	RDPEpsilon      float64 `json:"rdp_epsilon"`      // RDP's epsilon for the lemma's noise, if batches are secret
	RDPEpsilonQ1    float64 `json:"rdp_epsilon_q1"`   // RDP's epsilon for the lemma's noise, if batches are not secret
	// WithoutRate is the multiplier that the lemma requires at learning rate 1.
	WithoutRate float64 `json:"noise_multiplier_without_rate"`
	TimesRDP    float64 `json:"without_rate_times_rdp"` // WithoutRate divided by RDP's multiplier at the same epsilon
}

// privacyCost is an accountant's result for a plan: epsilon and the noise multiplier.
type privacyCost struct {
	epsilon, multiplier float64
	rdp                 float64 // the epsilon that the RDP accountant gives at the same multiplier
}

func (in Input) step(multiplier float64) accountant.Step {
	return accountant.Step{
		Mechanism: accountant.Mechanism{SamplingRate: in.SamplingRate, NoiseMultiplier: multiplier}, Rounds: in.Rounds,
	}
}

// nearest returns the accountant that comes closest to the chain's ledger.
func (in Input) nearest() accountant.Method { return accountant.ChainMethod(in.SamplingRate) }

// account computes the noise multiplier for the target epsilon, or the epsilon for the given noise
// multiplier, with the input's accountant.
func (in Input) account() (s privacyCost, err error) {
	if in.Accountant == Lemma1 {
		c, err := in.lemma1()
		return privacyCost{c.ClaimedEpsilon, c.NoiseMultiplier, c.RDPEpsilon}, err
	}
	if in.Accountant == accountant.Analytic && in.SamplingRate != 1 {
		return s, fmt.Errorf("%w: accountant analytic needs sampling rate 1, not %v: it knows no secret batches; "+
			"take rdp or pld", ErrInput, in.SamplingRate)
	}
	s.multiplier = in.NoiseMultiplier
	if in.Epsilon != 0 {
		if s.multiplier, err = accountant.NoiseMultiplier(in.Accountant, in.SamplingRate, in.Rounds, in.Epsilon,
			in.Delta); err != nil {
			return s, err
		}
	}
	if s.epsilon, err = accountant.Epsilon(in.Accountant, in.Delta, in.step(s.multiplier)); err != nil {
		return s, err
	}
	s.rdp, err = accountant.Epsilon(accountant.RDP, in.Delta, in.step(s.multiplier))
	return s, err
}

// lemma1 returns the calibration by Lemma 1 for the target epsilon. If the input gives the noise
// instead, it returns the calibration for the epsilon that the lemma claims for that noise.
func (in Input) lemma1() (Calibration, error) {
	claim := in.Epsilon
	if claim == 0 {
		unit, err := in.calibrate(1, in.LearningRate, 1) // the noise of Lemma 1 is proportional to 1/epsilon
		if err != nil {
			return Calibration{}, err
		}
		claim = unit.NoiseMultiplier / in.NoiseMultiplier
	}
	return in.compare(claim)
}

// compare compares the noise that the lemma requires for an epsilon with the noise that RDP requires.
func (in Input) compare(claim float64) (Calibration, error) {
	sampled, err := in.calibrate(claim, in.LearningRate, in.SamplingRate)
	full, err1 := in.calibrate(claim, in.LearningRate, 1)
	plain, err2 := in.calibrate(claim, 1, in.SamplingRate)
	least, err3 := accountant.NoiseMultiplier(accountant.RDP, in.SamplingRate, in.Rounds, claim, in.Delta)
	if err := errors.Join(err, err1, err2, err3); err != nil {
		return Calibration{}, fmt.Errorf("lemma1: %w", err)
	}
	return Calibration{
		ClaimedEpsilon: claim, LearningRate: in.LearningRate,
		NoiseMultiplier: sampled.NoiseMultiplier, RDPEpsilon: sampled.Epsilon, RDPEpsilonQ1: full.Epsilon,
		WithoutRate: plain.NoiseMultiplier, TimesRDP: plain.NoiseMultiplier / least,
	}, nil
}

// calibrate applies the lemma with a clip norm of 1.
func (in Input) calibrate(claim, rate, samplingRate float64) (accountant.Calibration, error) {
	return accountant.Lemma1{
		Sensitivity: 1, LearningRate: rate, Rounds: in.Rounds, Epsilon: claim, Delta: in.Delta,
	}.Calibrate(samplingRate)
}

// Ledger holds what a plan costs on the chain's ledger. The ledger adds up integers: RDP at a fixed list of orders, and
// mu^2 where a round takes all samples. So its epsilon can be higher than that of the other accountants.
type Ledger struct {
	Epsilon float64 `json:"epsilon"`          // the epsilon after all rounds
	Rounds  *uint64 `json:"rounds,omitempty"` // the rounds that the target epsilon pays for; null without a target epsilon
	// LeastMultiplier is the smallest noise multiplier with which all rounds cost no more than the target epsilon. It
	// is 0 in two cases: the plan's multiplier suffices, or even twice the plan's multiplier does not.
	LeastMultiplier float64 `json:"least_noise_multiplier,omitempty"`
}

// ledger computes the Ledger with the chain's accountant. If targetEpsilon is 0, there is no target.
func (in Input) ledger(multiplier, targetEpsilon float64) (Ledger, error) {
	costs, err := accountant.ChainCosts(in.step(multiplier).Mechanism)
	if err != nil {
		return Ledger{}, err
	}
	chain := params.Privacy{Cost: costs}
	var l Ledger
	l.Epsilon, err = accountant.ChainEpsilon(chain.PayFor(nil, uint64(in.Rounds)), in.Delta)
	if err != nil || targetEpsilon == 0 {
		return l, err
	}
	if chain.Budget, err = accountant.ChainBudget(targetEpsilon, in.Delta); err != nil {
		return l, err
	}
	pays := chain.Participations(nil)
	l.Rounds = &pays
	for z := multiplier; pays < uint64(in.Rounds) && z < 2*multiplier; {
		z *= 1.001
		if chain.Cost, err = accountant.ChainCosts(in.step(z).Mechanism); err != nil {
			return l, nil // the accountant accepts no larger noise: LeastMultiplier stays 0
		}
		if chain.Participations(nil) >= uint64(in.Rounds) {
			l.LeastMultiplier = z
			break
		}
	}
	return l, nil
}
