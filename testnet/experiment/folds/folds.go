// Package folds measures what each site of a consortium would gain, by cross-validation: every row of a site is
// predicted by models that did not train on it.
package folds

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// The models of a row, of which ByRate says the rate of the site's training rows.
const (
	Alone   = iota // the site's own ridge regression
	Common         // the chain's, trained by all sites
	Adapted        // the chain's, as `spdl model adapt` fits it to the site's training rows
	Pooled         // a ridge regression on the training rows of all sites, not private: the ceiling
	ByRate
	models
)

// Study is a consortium whose training is repeated.
type Study struct {
	Params  []params.Params // one for each epsilon
	Sites   []mnist.Set     // the rows of each
	Names   []string        // of each
	Attacks map[int]string  // behaviours of sites (package attack)
	Folds   int             // at least 2
	Repeats int             // draws of the folds and of the noise
	Seed    uint64
}

// Pool returns the rows of sets of one shape, of which no two have a group in common.
func Pool(sets ...mnist.Set) (all mnist.Set) {
	groups := uint32(0)
	for _, s := range sets {
		all.Rows, all.Cols = s.Rows, s.Cols
		all.Images, all.Labels = append(all.Images, s.Images...), append(all.Labels, s.Labels...)
		for _, g := range s.Groups {
			all.Groups = append(all.Groups, groups+g)
		}
		if len(s.Groups) > 0 {
			groups += slices.Max(s.Groups) + 1
		}
	}
	return all
}

// run is a study in progress. A chance is that of the second class.
type run struct {
	Study
	whole mnist.Set
	x     mnist.Features
	sites [][]int // rows of whole
	site  []int   // of each row of whole
	units [][]int // groups, or rows without groups

	mu      sync.Mutex
	chances [][][models][]float64 // by epsilon, repeat, model and row of whole; each fold sets its rows
	errs    []error               // by site: why its own model cannot be made; guarded by mu
}

// begin makes the rows of all sites, of which no chance is known yet.
func (s Study) begin() (r *run, err error) {
	r = &run{Study: s, whole: Pool(s.Sites...), errs: make([]error, len(s.Sites)),
		chances: make([][][models][]float64, len(s.Params))}
	if r.x, err = inputs.Features(r.whole, nil, s.Params[0].Model, inputs.Keep{}); err != nil {
		return nil, err
	}
	for i, site := range s.Sites {
		r.sites = append(r.sites, nil)
		for range site.Len() {
			r.sites[i] = append(r.sites[i], len(r.site))
			r.site = append(r.site, i)
		}
	}
	r.units = mnist.Units(r.whole.Groups, r.whole.Len())
	for e := range r.chances {
		r.chances[e] = make([][models][]float64, s.Repeats)
		for repeat := range r.chances[e] {
			for m := range models {
				r.chances[e][repeat][m] = make([]float64, r.whole.Len())
			}
		}
	}
	return r, nil
}

// Run trains Folds times Repeats models for each epsilon, and returns a line for each site and epsilon, and one of all
// sites at the end of each epsilon.
func (s Study) Run(ctx context.Context) ([]Line, error) {
	r, err := s.begin()
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	busy := make(chan struct{}, runtime.GOMAXPROCS(0))
	for repeat := range s.Repeats {
		fold := r.deal(rand.New(rand.NewPCG(s.Seed, uint64(repeat))))
		for k := range s.Folds {
			busy <- struct{}{}
			group.Go(func() {
				failed := r.fold(ctx, repeat, k, fold)
				r.mu.Lock()
				err = cmp.Or(err, failed)
				r.mu.Unlock()
				<-busy
			})
		}
	}
	if group.Wait(); err != nil {
		return nil, err
	}
	return r.lines(), nil
}

// deal deals the rows of each site into the folds, and returns the fold of each row of all: whole groups, and groups
// with a row of the second class apart from those without one, so that each fold has its share.
func (r *run) deal(rng *rand.Rand) []int {
	fold, next, units := make([]int, r.whole.Len()), make([]int, len(r.sites)), slices.Clone(r.units)
	rng.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	for _, ill := range []bool{true, false} {
		for _, unit := range units {
			if ill == slices.ContainsFunc(unit, func(row int) bool { return r.whole.Labels[row] == 1 }) {
				i := r.site[unit[0]]
				for _, row := range unit {
					fold[row] = next[i] % r.Folds
				}
				next[i]++
			}
		}
	}
	return fold
}

// fold trains without a fold and predicts it.
func (r *run) fold(ctx context.Context, repeat, k int, fold []int) error {
	own, left := make([][]int, len(r.sites)), make([][]int, len(r.sites))
	var all []int
	for i, rows := range r.sites {
		for _, row := range rows {
			if fold[row] == k {
				left[i] = append(left[i], row)
			} else {
				own[i] = append(own[i], row)
			}
		}
		all = append(all, own[i]...)
	}
	logistic, err := model.New(model.SpecOf(r.Params[0].Model))
	if err != nil {
		return err
	}
	pooled, err := adapt.Ridge(r.x.Subset(all))
	if err != nil {
		return fmt.Errorf("the rows of all sites: %w", err)
	}
	commons := make([][]float64, len(r.Params))
	for e, p := range r.Params {
		spec := train.Spec{Params: p, Nodes: len(r.sites), Seed: (r.Seed<<16|uint64(repeat))<<8 | uint64(k)}
		if commons[e], err = train.Sites(ctx, spec, r.whole, own, r.Attacks); err != nil {
			return err
		}
	}
	for i := range r.sites {
		rows, test := r.x.Subset(own[i]), r.x.Subset(left[i])
		alone, err := adapt.Ridge(rows)
		if err != nil {
			r.mu.Lock()
			r.errs[i] = err
			r.mu.Unlock()
			continue
		}
		rate := float64(bytes.Count(rows.Labels, []byte{1})) / float64(rows.Len())
		for e, common := range commons {
			ways, err := adapt.From(rows, common)
			if err != nil {
				return err
			}
			for m, w := range [...][]float64{alone.Parameters, common, adapt.Best(ways).Parameters, pooled.Parameters} {
				for j, chance := range logistic.Positive(w, test.X, test.Labels) {
					r.chances[e][repeat][m][left[i][j]] = chance
				}
			}
			for _, row := range left[i] {
				r.chances[e][repeat][ByRate][row] = rate
			}
		}
	}
	return nil
}
