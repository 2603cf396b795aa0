package store

import (
	"time"

	"github.com/spdl/spdl/app"
)

// A snapshot is kept for at least snapshotAge, so that a node to which it was offered can fetch it. The min time
// snapshotSpacing between two snapshots limits the number of kept snapshots on a fast chain.
const (
	keptSnapshots   = 2 // the min number of kept snapshots
	snapshotAge     = 10 * time.Minute
	snapshotSpacing = snapshotAge / 20
)

// Snapshotter takes a node's snapshots and drops the old ones. Its methods must be called from one goroutine at a time.
type Snapshotter struct {
	store *Store
	now   func() time.Time
	start time.Time            // when the node started
	times map[uint64]time.Time // the time of each snapshot, by height
}

// NewSnapshotter returns the Snapshotter of a node that starts now.
func NewSnapshotter(s *Store, now func() time.Time) *Snapshotter {
	return &Snapshotter{store: s, now: now, start: now()}
}

// Take stores a snapshot of the state and drops old snapshots. It does nothing if keptSnapshots are
// stored and the latest is younger than snapshotSpacing.
func (x *Snapshotter) Take(s *app.State) error {
	heights, err := x.store.Snapshots()
	if err != nil {
		return err
	}
	now := x.now()
	taken := map[uint64]time.Time{}
	for _, h := range heights {
		if taken[h] = x.start; x.times[h].After(x.start) {
			taken[h] = x.times[h]
		}
	}
	x.times = taken
	if n := len(heights); n >= keptSnapshots && now.Sub(taken[heights[n-1]]) < snapshotSpacing {
		return nil
	}
	if err := x.store.takeSnapshot(s); err != nil {
		return err
	}
	taken[s.Height] = now
	for heights = append(heights, s.Height); len(heights) > keptSnapshots &&
		now.Sub(taken[heights[0]]) > snapshotAge; heights = heights[1:] {
		if err := x.store.dropSnapshot(heights[0]); err != nil {
			return err
		}
	}
	return nil
}
