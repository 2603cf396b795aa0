package params

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// maxShift bounds the distance by which a leader can shift Delta within the tolerance, as a
// fraction of the clip norm. The distance is tolerance*step*sqrt(d).
const maxShift = 0.05

// F returns the number of Byzantine participants that the rule withstands among n participants:
// rule.byzantine, or MaxByzantine(n) if that is smaller.
func (r Rule) F(n int) int { return max(0, min(int(r.Byzantine), MaxByzantine(n))) }

// MaxByzantine returns the largest f with n >= 3f+1.
func MaxByzantine(n int) int { return (n - 1) / 3 }

// Validate rejects a rule that n participants cannot use.
func (r Rule) Validate(n int) error {
	rule, err := rules.Lookup(r.Name)
	if err != nil {
		return err
	}
	switch {
	case n < 1 || n > gradients.MaxParticipants:
		return fmt.Errorf("%d participants, want 1 to %d", n, gradients.MaxParticipants)
	case n < 3*int(r.Byzantine)+1:
		return fmt.Errorf("rule.byzantine is %d with %d participants, at most %d (N >= 3f+1)", r.Byzantine, n,
			MaxByzantine(n))
	case r.Tolerance < 0:
		return fmt.Errorf("rule.tolerance is %d grid steps, want at least 0", r.Tolerance)
	}
	// A round may close with n-f gradients. If the rule could not aggregate n-f gradients, the chain would stall.
	f := int(r.Byzantine)
	if err := rule.Feasible(n, f, n-f); err != nil {
		return fmt.Errorf("rule.name %q cannot aggregate N-f of N=%d gradients with f=%d: %w", r.Name, n, f, err)
	}
	return nil
}

func (p Params) validateTolerance() error {
	if p.Rule.Tolerance == 0 {
		return nil
	}
	if p.Privacy.Clip == 0 {
		return fmt.Errorf("rule.tolerance is %d and privacy.clip 0: without a clip norm nothing bounds what a leader may "+
			"do with it, want tolerance 0", p.Rule.Tolerance)
	}
	root := math.Sqrt(float64(p.Model.Dim()))
	reach := float64(p.Rule.Tolerance) * p.Grid.Step * root
	if bound := maxShift * p.Privacy.Clip; reach > bound {
		return fmt.Errorf("rule.tolerance %d lets a leader shift Delta by %.3g (tolerance*step*sqrt(d)), at most %.3g (%g "+
			"of the clip norm): want at most %.0f",
			p.Rule.Tolerance, reach, bound, maxShift, math.Floor(bound/(p.Grid.Step*root)))
	}
	return nil
}
