package app

import (
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

const (
	// UpgradeMargin is the min number of heights from the block that proposes or enacts an upgrade
	// to the first block of the new version. In these heights every node learns of the upgrade.
	UpgradeMargin = 20
	// maxUpgradeName bounds an upgrade's name, in bytes.
	maxUpgradeName = 64
)

// upgrade proposes that another version of the state machine executes the blocks from a height on. Once enacted, it
// replaces any planned upgrade. With version 0 and height 0 it only cancels the planned upgrade.
type upgrade struct{ *tx.Upgrade }

func (u upgrade) sender() sender { return memberSender(u.Participant, u.Nonce) }

func (u upgrade) cancels() bool { return u.Height == 0 && u.Version == 0 }

// check rejects a name that is not well-formed (U1), a version or height that is too low (U2), and
// the cancellation of an upgrade that is not planned (U3).
func (u upgrade) check(s *State) error {
	if err := params.CheckText("name", u.Name, maxUpgradeName); err != nil || u.Name == "" {
		if err == nil {
			err = fmt.Errorf("name is empty, want 1 to %d bytes", maxUpgradeName)
		}
		return fmt.Errorf("%w: %w", ErrUpgrade, err)
	}
	if u.cancels() {
		if plan, ok := s.Plan(); !ok || plan.Name != u.Name {
			return fmt.Errorf("%w: no upgrade %q is planned, to be cancelled at height %d", ErrNoPlan, u.Name, s.Height)
		}
		return nil
	}
	switch {
	case u.Version <= s.version:
		return fmt.Errorf("%w: version %d, want above the running one, %d", ErrUpgradeVersion, u.Version, s.version)
	case u.Height < s.Height+UpgradeMargin || u.Height > math.MaxInt64:
		return fmt.Errorf("%w: height %d, want at least %d (%d after this one) and at most %d",
			ErrUpgradeVersion, u.Height, s.Height+UpgradeMargin, UpgradeMargin, uint64(math.MaxInt64))
	}
	return nil
}

func (u upgrade) apply(s *State, t *tx.Tx) { s.propose(u, t) }

func (u upgrade) isReady(*State) bool { return true }

// execute replaces or cancels the planned upgrade.
func (u upgrade) execute(s *State) (uint32, error) {
	if err := u.check(s); err != nil {
		return u.Participant, err
	}
	made := s.Progress.Upgrades
	if _, ok := s.Plan(); ok {
		made = made[:len(made)-1]
	}
	s.Progress.Upgrades = slices.Clone(made)
	if !u.cancels() {
		s.Progress.Upgrades = append(s.Progress.Upgrades, Upgrade{Name: u.Name, Height: u.Height, Version: u.Version})
	}
	return u.Participant, nil
}

// isObsolete reports whether check now rejects the upgrade: its height or version has become too
// low, or it cancels an upgrade that is no longer planned.
func (u upgrade) isObsolete(s *State) bool { return u.check(s) != nil }

func (u upgrade) describe() Description {
	d := Description{
		Summary: fmt.Sprintf("%d proposes upgrade %q to version %d at height %d", u.Participant, u.Name, u.Version,
			u.Height),
		Attributes: []Attribute{{"name", u.Name}, {"upgrade_height", number(u.Height)}, {"version", number(u.Version)}},
	}
	if u.cancels() {
		d.Summary = fmt.Sprintf("%d proposes to cancel upgrade %q", u.Participant, u.Name)
		d.Attributes = d.Attributes[:1]
	}
	return d
}
