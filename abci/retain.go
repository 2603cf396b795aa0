package abci

import (
	"slices"
	"sort"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// Retain bounds the past whose blocks a node keeps: the last Rounds rounds and the last Heights
// heights, whichever reaches further back. The zero value keeps all blocks.
type Retain struct{ Rounds, Heights uint64 }

// retainHeight returns the lowest height whose block is kept after a commit, 0 to drop none. It is
// computed once every store.KeptEvery rounds. Blocks are kept from the last checkpoint before the
// retained past on, so that every model in it can be recomputed, and from the oldest snapshot on,
// so that a node that restores it finds the blocks after it. CometBFT itself keeps the headers and
// commits that are younger than the age of evidence.
func (a *Application) retainHeight(out *app.Outcome) (int64, error) {
	s, r := out.State, a.options.Retain
	if r == (Retain{}) || out.Record == nil || (out.Record.Round+1)%store.KeptEvery != 0 {
		return 0, nil
	}
	least := s.Height
	if r.Heights > 0 {
		least = s.Height - min(s.Height, r.Heights)
	}
	if r.Rounds > 0 {
		first, err := a.roundsBack(s, r.Rounds)
		if err != nil || first == nil {
			return 0, err
		}
		least = min(least, first.Height-1)
	}
	snapshots, err := a.store.Snapshots()
	if err != nil {
		return 0, err
	}
	if len(snapshots) > 0 {
		least = min(least, snapshots[0])
	}
	kept, err := a.keptBefore(s, least)
	if err != nil || kept == nil {
		return 0, err
	}
	return int64(kept.Height) + 1, nil
}

// epochs returns the epochs with their closed rounds, the running one first.
func epochs(s *app.State) []app.Epoch {
	all := append(slices.Clone(s.Epochs), app.Epoch{Epoch: s.Progress.Epoch, Rounds: s.Progress.Round})
	slices.Reverse(all)
	return all
}

// roundsBack returns the record of the first of the last n closed rounds, nil if there are fewer,
// or this node does not hold it.
func (a *Application) roundsBack(s *app.State, n uint64) (*app.Record, error) {
	for _, e := range epochs(s) {
		if n <= e.Rounds {
			return a.store.Record(e.Epoch, e.Rounds-n)
		}
		n -= e.Rounds
	}
	return nil, nil
}

// keptBefore returns the record of the last round at or below a height that has a checkpoint, nil
// if there is none.
func (a *Application) keptBefore(s *app.State, height uint64) (*app.Record, error) {
	for _, e := range epochs(s) {
		var failed error
		later := sort.Search(int(e.Rounds/store.KeptEvery), func(i int) bool {
			r, err := a.store.Record(e.Epoch, uint64(i+1)*store.KeptEvery-1)
			if err != nil {
				failed = err
			}
			return r != nil && r.Height > height // records that a state-synced node does not hold are earlier
		})
		if failed != nil {
			return nil, failed
		}
		if later > 0 {
			return a.store.Record(e.Epoch, uint64(later)*store.KeptEvery-1)
		}
	}
	return nil, nil
}
