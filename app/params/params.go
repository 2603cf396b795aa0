package params

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// maxPreset bounds the name of the preset in bytes.
const maxPreset = 70

// One is the reputation 1, in parts per million.
const One = 1_000_000

// maxBlocks bounds Term (in rounds), ViewBlocks and QuorumBlocks (in heights), so that their sums do not overflow.
const maxBlocks = 1 << 20

// warnBlocks is the number of heights above which Validate warns about ViewBlocks or QuorumBlocks.
const warnBlocks = 100

// Decode decodes parameters. It rejects every encoding that differs from the canonical encoding.
func Decode(data []byte) (p Params, err error) {
	if err := p.Unmarshal(data); err != nil {
		return p, fmt.Errorf("params: %w", err)
	}
	again, err := p.Marshal()
	if err != nil {
		return p, fmt.Errorf("params: %w", err)
	}
	if !bytes.Equal(again, data) {
		return p, fmt.Errorf("params are not in canonical form")
	}
	return p, nil
}

// Validate checks the parameters for n participants. The warnings name settings that are valid but weaken a guarantee.
func (p Params) Validate(n int) (warnings []string, err error) {
	for _, check := range []func() error{
		func() error { return CheckText("preset", p.Preset, maxPreset) },
		p.Model.validate,
		p.Grid.validate,
		p.Training.validate,
		p.Privacy.validate,
		p.Privacy.ValidateLedger,
		p.validateUnit,
		p.validateSums,
		p.validateStep,
		p.validateFloor,
		p.Reputation.validate,
		p.Election.Validate,
		func() error { return p.Rule.Validate(n) },
		p.validateTolerance,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p.warnings(n), nil
}

// Lattice returns the grid as a gradients.Grid, on which vectors are quantised. The two types are
// separate because Grid is a protobuf message, and package gradients imports no protobuf.
func (g Grid) Lattice() gradients.Grid {
	return gradients.Grid{Width: gradients.Width(g.Width), Step: g.Step}
}

func (g Grid) validate() error {
	if g.Width != 1 && g.Width != 2 {
		return fmt.Errorf("grid.width is %d, want 1 or 2 bytes", g.Width)
	}
	if !positive(g.Step) {
		return fmt.Errorf("grid.step is %g, want above 0", g.Step)
	}
	return nil
}

func (t Training) validate() error {
	switch {
	case t.Rounds == 0:
		return fmt.Errorf("training.rounds is 0, want at least 1")
	case !positive(t.LearningRate):
		return fmt.Errorf("training.learning_rate is %g, want above 0", t.LearningRate)
	case !(t.Momentum >= 0 && t.Momentum < 1):
		return fmt.Errorf("training.momentum is %g, want within [0, 1)", t.Momentum)
	case !(t.WeightDecay >= 0 && t.WeightDecay < 1):
		return fmt.Errorf("training.weight_decay is %g, want within [0, 1)", t.WeightDecay)
	}
	return nil
}

// validateSums rejects settings that sums of gradients exclude. Momentum and weight decay act on a step from the
// last model, and sums have none. A sum grows with the rounds, which a grid of one byte has no space for.
func (p Params) validateSums() error {
	if p.Privacy.Sums() && (p.Training.Momentum != 0 || p.Training.WeightDecay != 0 || p.Grid.Width != 2) {
		return fmt.Errorf("training.momentum is %g, weight_decay %g and grid.width %d with privacy.worker_momentum 1, "+
			"want 0, 0 and 2", p.Training.Momentum, p.Training.WeightDecay, p.Grid.Width)
	}
	return nil
}

func (r Reputation) validate() error {
	if r.Initial < 1 || r.Initial > One {
		return fmt.Errorf("reputation.initial is %d, want within [1, %d]", r.Initial, One)
	}
	if r.Penalty < 0 || r.Penalty > One || r.Reward < 0 || r.Reward > One {
		return fmt.Errorf("reputation.penalty is %d and reward %d, want within [0, %d]", r.Penalty, r.Reward, One)
	}
	if r.Margin < 0 || r.Margin > One || r.PassedOver < 0 || r.PassedOver > One {
		return fmt.Errorf("reputation.margin is %d and passed_over %d, want within [0, %d]", r.Margin, r.PassedOver, One)
	}
	return nil
}

// Validate rejects a Term, ViewBlocks or QuorumBlocks above maxBlocks, and a Term or ViewBlocks of
// 0.
func (e Election) Validate() error {
	if e.Term == 0 || e.ViewBlocks == 0 {
		return fmt.Errorf("election.term is %d and view_blocks %d, want at least 1", e.Term, e.ViewBlocks)
	}
	if e.Term > maxBlocks || e.ViewBlocks > maxBlocks || e.QuorumBlocks > maxBlocks {
		return fmt.Errorf("election.term is %d, view_blocks %d and quorum_blocks %d, at most %d", e.Term, e.ViewBlocks,
			e.QuorumBlocks, maxBlocks)
	}
	return nil
}

func (p Params) warnings(n int) (out []string) {
	f := int(p.Rule.Byzantine)
	if rule, err := rules.Lookup(p.Rule.Name); err == nil {
		if err := rule.Condition(n, f); err != nil {
			out = append(out, fmt.Sprintf("rule %s: %v (spdl rules --validators %d lists those that hold)", p.Rule.Name, err, n))
		}
	}
	if p.TestChain {
		out = append(out, "test_chain: TEST CHAIN ONLY, workers may draw their noise from a known seed and "+
			"nothing is private")
	}
	if p.Rule.Zeros {
		out = append(out, "rule.zeros: a silent participant counts as the zero vector; one of ten makes Krum choose it in "+
			"most rounds")
	}
	if p.Rule.Unsquared {
		out = append(out, "rule.unsquared: scores sum norms without the square, as the paper writes; Blanchard et al. "+
			"prove the squared rule")
	}
	return slices.Concat(out, p.Election.warnings(f), p.Privacy.warnings(p.Training.Rounds))
}

// warnings returns warnings about a quorum_blocks or view_blocks that is too high or too low. If the
// value is too high, one silent participant or leader can hold a round open for a long time. If the
// value is at most f, f Byzantine proposers in succession can decide how the round closes.
func (e Election) warnings(f int) (out []string) {
	if e.QuorumBlocks > warnBlocks || e.ViewBlocks > warnBlocks {
		out = append(out, fmt.Sprintf("election.quorum_blocks is %d and view_blocks %d: heights are the only timeout, and "+
			"one silent participant or leader holds a round open for that long (more than %d)",
			e.QuorumBlocks, e.ViewBlocks, warnBlocks))
	}
	if f > 0 && (e.QuorumBlocks <= uint64(f) || e.ViewBlocks <= uint64(f)) {
		out = append(out, fmt.Sprintf("election.quorum_blocks is %d and view_blocks %d, want at least f+1 = %d: f "+
			"Byzantine validators may propose one after the other",
			e.QuorumBlocks, e.ViewBlocks, f+1))
	}
	return out
}

// WeakEpsilon is the epsilon above which a guarantee means little: at epsilon 8, what participants
// send may raise the odds of an observer's guess about an example by a factor of e^8.
const WeakEpsilon = 8

// warnings returns warnings about settings that weaken the privacy of a training of the given number of rounds.
func (p Privacy) warnings(rounds uint64) (out []string) {
	if affordable := p.Participations(nil); affordable < rounds {
		out = append(out, fmt.Sprintf("privacy.budget pays for %d of training.rounds %d", affordable, rounds))
	}
	if p.Mechanism == MechanismGaussian && len(p.Cost) == 0 {
		out = append(out, "privacy has no budget: no gradient is ever rejected because of its cost")
	}
	if claim := p.Lemma1Epsilon; claim != 0 {
		out = append(out, fmt.Sprintf("privacy.lemma1_epsilon is %g: what the paper's Lemma 1 claims of the noise, NO "+
			"GUARANTEE; by the accountant it is privacy.epsilon %g at delta %g",
			claim, p.Epsilon, p.Delta))
	}
	if p.Mechanism == MechanismGaussian && p.Epsilon > WeakEpsilon {
		out = append(out, fmt.Sprintf("privacy.epsilon is %g: a guarantee above %d means little", p.Epsilon, WeakEpsilon))
	}
	if p.Mechanism != MechanismGaussian {
		out = append(out, fmt.Sprintf("NO DP GUARANTEE: privacy.mechanism is %q", p.Mechanism))
	}
	return out
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// RoundID names a round by the number of its epoch and its own number within that epoch. It is comparable.
type RoundID struct{ Epoch, Round uint64 }

// String returns epoch and round in the form of query paths, as "0/12".
func (r RoundID) String() string {
	return strconv.FormatUint(r.Epoch, 10) + "/" + strconv.FormatUint(r.Round, 10)
}

// CheckText rejects text of more than limit bytes, and text with characters other than printable
// ASCII, U+0020 to U+007E. Other characters could break a terminal or a table. Unicode's tables of
// printable characters grow, so nodes that were built with different releases of Go could disagree
// about other characters. CheckText does not escape text for web pages.
func CheckText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d", name, len(text), limit)
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return fmt.Errorf("%s %+q has byte 0x%02X at %d, want printable ASCII alone (0x20 to 0x7E)", name, text, c, i)
		}
	}
	return nil
}

// hashDigits is the length of a SHA-256 in hexadecimal digits.
const hashDigits = 2 * sha256.Size

// isHash reports whether text is a SHA-256 in lower-case hexadecimal digits.
func isHash(text string) bool {
	return len(text) == hashDigits && strings.Trim(text, "0123456789abcdef") == ""
}
