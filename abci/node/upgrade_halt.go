package node

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// ExitVersion is the exit code of a program that ended, or did not start, because the chain needs
// another version of the state machine. A supervisor must not restart the program.
const ExitVersion = 4

// A node that has executed the last height of its version waits until its peers have executed that height too. It waits
// at least minPeerWait and at most maxPeerWait, and checks every peerWaitPause. minPeerWait is needed because block
// sync panics if it is stopped between executing a block and completing the processing of that block.
const (
	minPeerWait   = time.Second
	maxPeerWait   = 30 * time.Second
	peerWaitPause = 100 * time.Millisecond
)

// versionError returns an ErrVersion that says why this program does not execute the height after
// the state s, and what the operator must do.
func versionError(s *app.State, why error) error {
	program := fmt.Sprintf("this program (%s) executes version %d", version.Version, app.Version)
	plan, planned := s.Plan()
	u, upgraded := s.Upgraded()
	switch {
	case planned && plan.Height > s.Height+1 && plan.Version <= app.Version:
		return fmt.Errorf("%w: upgrade %q makes it version %d from height %d on, and the chain in this home is at "+
			"height %d; %s. "+
			"Start the release of before until it stops there by itself, then the one of version %d", ErrVersion, plan.Name,
			plan.Version, plan.Height, s.Height, program, plan.Version)
	case upgraded && u.Height == s.Height+1:
		return fmt.Errorf("%w: upgrade %q makes it version %d from height %d on, %s. Height %d is the last that is executed "+
			"here; nothing is signed after it. Put a release in place whose spdl version prints state machine %d, and start it",
			ErrVersion, u.Name, u.Version, u.Height, program, s.Height, u.Version)
	case upgraded:
		return fmt.Errorf("%w: upgrade %q made it version %d at height %d, and the chain in this home is at height %d; %s. "+
			"Start a release whose spdl version prints state machine %d", ErrVersion, u.Name, u.Version, u.Height, s.Height,
			program, u.Version)
	}
	return fmt.Errorf("%w: %w", ErrVersion, why)
}

// stateOf returns the committed state of an application, nil before the application has a state.
func stateOf(application any) *app.State {
	if a, ok := application.(*abci.Application); ok {
		return a.State()
	}
	return nil
}

// executable returns a check for a height that needs another version of the state machine.
func executable(state func() *app.State) func() error {
	return func() error {
		if s := state(); s != nil {
			return s.Executable()
		}
		return nil
	}
}

// upgradeHalt is the state of a node's halt for an upgrade. The node halts before the first height
// that another version must execute.
type upgradeHalt struct {
	isArmed   bool            // whether CometBFT has replayed its blocks; set before the node starts
	lastState chan *app.State // receives the state after the last height of this version
	// blocked is closed when CometBFT has delivered a block of the other version and is blocked in FinalizeBlock.
	blocked chan struct{}
	stop    chan struct{} // closed by Stop
	once    sync.Once
}

func newUpgradeHalt() *upgradeHalt {
	return &upgradeHalt{lastState: make(chan *app.State, 1), blocked: make(chan struct{}), stop: make(chan struct{})}
}

// watchUpgrade stops the node after the last height of this version. It must be called after CometBFT has replayed its
// blocks. It fails with ErrVersion if the replay already reached that height.
func (r *Running) watchUpgrade(logger log.Logger) error {
	if s := r.Application.State(); s != nil {
		if err := s.Executable(); err != nil {
			return versionError(s, err)
		}
	}
	r.upgradeHalt.isArmed = true
	go func() {
		select {
		case s := <-r.upgradeHalt.lastState:
			err := versionError(s, s.Executable())
			logger.Error("upgrade: the node stops", "height", s.Height, "err", err)
			r.waitForPeers(int64(s.Height) + 1)
			r.fail(err)
		case <-r.upgradeHalt.stop:
		}
	}()
	return nil
}

// waitForPeers waits until all connected peers have reached the given height. If this node stopped at once, a peer that
// lacks the last block might find no node that sends it. Such a peer would never reach the upgrade's height.
func (r *Running) waitForPeers(height int64) {
	least, most := time.Now().Add(minPeerWait), time.After(maxPeerWait)
	for time.Now().Before(least) || r.isPeerBelow(height) {
		select {
		case <-most:
		case <-r.upgradeHalt.blocked:
		case <-r.upgradeHalt.stop:
		case <-time.After(peerWaitPause):
			continue
		}
		return
	}
}

// isPeerBelow reports whether a connected peer is below the given height.
func (r *Running) isPeerBelow(height int64) bool {
	heights := slices.Sorted(maps.Values(r.network.PeerHeights()))
	return len(heights) > 0 && heights[0] < height
}
