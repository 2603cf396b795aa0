package store

import (
	"slices"
	"sort"

	"github.com/spdl/spdl/app"
)

// Retain says which past blocks a node keeps: those of the last Rounds rounds and of the last Heights heights. 0 is no
// bound; if both are set, the bound that keeps more blocks applies. The zero value keeps all blocks.
type Retain struct {
	Rounds  uint64 `toml:"rounds"`
	Heights uint64 `toml:"heights"`
}

// Drops reports whether old blocks are dropped.
func (r Retain) Drops() bool { return r != Retain{} }

// RetainHeight returns, after a commit, the lowest height whose block is kept, or 0 to drop no
// blocks. It computes that height once every CheckpointEvery rounds. The node keeps the blocks
//
//   - from the last checkpoint before the retained rounds and heights, so that it can recompute
//     every model since then;
//   - from the oldest snapshot, so that a node that restores this snapshot can get the blocks after
//     it.
//
// CometBFT itself also keeps the headers and commits that are younger than the max age of evidence.
func (s *Store) RetainHeight(out *app.Outcome, r Retain) (int64, error) {
	x := out.State
	if !r.Drops() || s.CheckpointEvery == 0 || out.Record == nil || (out.Record.Round+1)%s.CheckpointEvery != 0 {
		return 0, nil
	}
	least := x.Height
	if r.Heights > 0 {
		least = x.Height - min(x.Height, r.Heights)
	}
	if r.Rounds > 0 {
		first, err := s.roundsBack(x, r.Rounds)
		if err != nil || first == nil {
			return 0, err
		}
		least = min(least, first.Height-1)
	}
	snapshots, err := s.Snapshots()
	if err != nil {
		return 0, err
	}
	if len(snapshots) > 0 {
		least = min(least, snapshots[0])
	}
	kept, err := s.checkpointBefore(x, least)
	if err != nil || kept == nil {
		return 0, err
	}
	return int64(kept.Height) + 1, nil
}

// epochs returns all epochs, the running epoch first. Each has its number and the number of its closed rounds.
func epochs(x *app.State) []app.Epoch {
	all := append(slices.Clone(x.Epochs), app.Epoch{Epoch: x.Progress.Epoch, Rounds: x.Progress.Round})
	slices.Reverse(all)
	return all
}

// roundsBack returns the record of the first of the last n closed rounds. It returns nil if fewer
// than n rounds are closed, or if this node does not have that record.
func (s *Store) roundsBack(x *app.State, n uint64) (*app.Record, error) {
	for _, e := range epochs(x) {
		if n <= e.Rounds {
			return s.Record(e.Epoch, e.Rounds-n)
		}
		n -= e.Rounds
	}
	return nil, nil
}

// checkpointBefore returns the record of the last round that has a checkpoint and closed at or
// below the given height. It returns nil if there is none.
func (s *Store) checkpointBefore(x *app.State, height uint64) (*app.Record, error) {
	for _, e := range epochs(x) {
		var failed error
		later := sort.Search(int(e.Rounds/s.CheckpointEvery), func(i int) bool {
			r, err := s.Record(e.Epoch, uint64(i+1)*s.CheckpointEvery-1)
			if err != nil {
				failed = err
			}
			return r != nil && r.Height > height // after state sync only the earliest records are missing
		})
		if failed != nil {
			return nil, failed
		}
		if later > 0 {
			return s.Record(e.Epoch, uint64(later)*s.CheckpointEvery-1)
		}
	}
	return nil, nil
}
