package store

import (
	"slices"
	"sync"

	"github.com/spdl/spdl/app/params"
)

// recentBytes is the max size in bytes of the models in a recentModels.
const recentBytes = 64 << 20

// recentModels holds the models after the last rounds of a large state, because the database has only
// those of its writes. It is safe for concurrent use.
type recentModels struct {
	mu     sync.Mutex
	rounds []params.RoundID
	models [][]float64
}

// numRecent returns the max number of models with d coordinates in a recentModels.
func numRecent(d int) int { return max(1, min(maxModels, recentBytes/(8*d))) }

// add adds the model after a round, and drops the oldest beyond numRecent.
func (r *recentModels) add(id params.RoundID, model []float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds, r.models = append(r.rounds, id), append(r.models, model)
	if n := len(r.models) - numRecent(len(model)); n > 0 {
		clear(r.models[:n]) // for the garbage collector
		r.rounds, r.models = r.rounds[n:], r.models[n:]
	}
}

// get returns the model after a round, or nil.
func (r *recentModels) get(id params.RoundID) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.rounds, id); i >= 0 {
		return r.models[i]
	}
	return nil
}

// drop drops all models.
func (r *recentModels) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds, r.models = nil, nil
}
