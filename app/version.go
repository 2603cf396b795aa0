package app

import (
	"fmt"
	"slices"
	"strconv"
)

// stateMachine is Version in decimal digits. Only tests of upgrades set another value, through the
// linker, as in -X github.com/spdl/spdl/app.stateMachine=8.
var stateMachine = "7"

// Version is the version of the state machine that this program executes. Every state-breaking change raises it.
var Version = func() uint64 {
	v, err := strconv.ParseUint(stateMachine, 10, 64)
	if err != nil {
		panic(err) // the linker flags are wrong
	}
	return v
}()

// As returns a copy of the state for a program that executes the given version of the state machine.
// Testnets use it to run several versions in one process.
func (s *State) As(version uint64) *State {
	as := *s
	as.version = version
	return &as
}

// Plan returns the planned upgrade, an upgrade whose height is above the state's height. The second
// result is false if no upgrade is planned.
func (s *State) Plan() (Upgrade, bool) {
	if n := len(s.Progress.Upgrades); n > 0 && s.Progress.Upgrades[n-1].Height > s.Height {
		return s.Progress.Upgrades[n-1], true
	}
	return Upgrade{}, false
}

// Upgraded returns the latest upgrade that is in force at the height of the next block. The second
// result is false if no upgrade is in force.
func (s *State) Upgraded() (Upgrade, bool) { return s.upgradedAt(s.Height + 1) }

func (s *State) upgradedAt(height uint64) (Upgrade, bool) {
	for _, u := range slices.Backward(s.Progress.Upgrades) {
		if u.Height <= height {
			return u, true
		}
	}
	return Upgrade{}, false
}

// VersionAt returns the version of the state machine at a height, at most that of the next block, on a chain whose
// genesis states the given version (B7).
func (s *State) VersionAt(height, genesis uint64) uint64 {
	if u, ok := s.upgradedAt(height); ok {
		return u.Version
	}
	return genesis
}

// Executable returns ErrVersion if the next block needs another version of the state machine than
// this program has (B7).
func (s *State) Executable() error {
	if u, ok := s.Upgraded(); ok && u.Version != s.version {
		return fmt.Errorf("%w: upgrade %q makes it version %d from height %d on, this program executes version %d",
			ErrVersion, u.Name, u.Version, u.Height, s.version)
	}
	if u, ok := s.Plan(); ok && u.Height > s.Height+1 && u.Version <= s.version {
		return fmt.Errorf("%w: upgrade %q makes it version %d from height %d on, height %d is of an earlier one than "+
			"version %d of this program",
			ErrVersion, u.Name, u.Version, u.Height, s.Height+1, s.version)
	}
	return nil
}
