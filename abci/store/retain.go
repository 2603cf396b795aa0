package store

import (
	"slices"
	"sort"

	"github.com/spdl/spdl/app"
)

// Retain says which past blocks a node keeps: those of the last Rounds rounds and of the last
// Heights heights. 0 is no bound; if both are set, the bound that keeps more blocks applies. The
// zero value keeps all blocks.
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
func (x *Store) RetainHeight(out *app.Outcome, r Retain) (int64, error) {
	s := out.State
	if !r.Drops() || x.CheckpointEvery == 0 || out.Record == nil || (out.Record.Round+1)%x.CheckpointEvery != 0 {
		return 0, nil
	}
	least := s.Height
	if r.Heights > 0 {
		least = s.Height - min(s.Height, r.Heights)
	}
	if r.Rounds > 0 {
		first, err := x.roundsBack(s, r.Rounds)
		if err != nil || first == nil {
			return 0, err
		}
		least = min(least, first.Height-1)
	}
	snapshots, err := x.Snapshots()
	if err != nil {
		return 0, err
	}
	if len(snapshots) > 0 {
		least = min(least, snapshots[0])
	}
	kept, err := x.checkpointBefore(s, least)
	if err != nil || kept == nil {
		return 0, err
	}
	return int64(kept.Height) + 1, nil
}

// epochs returns all epochs, the running epoch first. Each has its number and the number of its
// closed rounds.
func epochs(s *app.State) []app.Epoch {
	all := append(slices.Clone(s.Epochs), app.Epoch{Epoch: s.Progress.Epoch, Rounds: s.Progress.Round})
	slices.Reverse(all)
	return all
}

// roundsBack returns the record of the first of the last n closed rounds. It returns nil if fewer
// than n rounds are closed, or if this node does not have that record.
func (x *Store) roundsBack(s *app.State, n uint64) (*app.Record, error) {
	for _, e := range epochs(s) {
		if n <= e.Rounds {
			return x.Record(e.Epoch, e.Rounds-n)
		}
		n -= e.Rounds
	}
	return nil, nil
}

// checkpointBefore returns the record of the last round that has a checkpoint and closed at or
// below the given height. It returns nil if there is none.
func (x *Store) checkpointBefore(s *app.State, height uint64) (*app.Record, error) {
	for _, e := range epochs(s) {
		var failed error
		later := sort.Search(int(e.Rounds/x.CheckpointEvery), func(i int) bool {
			r, err := x.Record(e.Epoch, uint64(i+1)*x.CheckpointEvery-1)
			if err != nil {
				failed = err
			}
			return r != nil && r.Height > height // after state sync only the earliest records are missing
		})
		if failed != nil {
			return nil, failed
		}
		if later > 0 {
			return x.Record(e.Epoch, uint64(later)*x.CheckpointEvery-1)
		}
	}
	return nil, nil
}
