package rules

import (
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// bulyanRule is Bulyan of Krum, in two steps. First Krum is run theta = N-2f times, each time on the gradients that no
// earlier run selected, with N less by one each time. Then, for each coordinate, the beta = theta-2f values of the
// selected that are nearest to their median are averaged, as mean-around-median does, tie rules included.
//
// Resilience: N >= 4f+3, which is theta >= 2f+3. It can be computed from N = 4f+1 on. As for Krum,
// N counts silent participants, and N-f-1 gradients must be included. With f = 0 and one of N
// missing, all included gradients are averaged.
//
// Two things that the paper leaves open: of an even number of selected values the median is the mean of the two in the
// middle (the paper's is any minimiser of the sum of distances), and a Krum run late enough to have fewer than one
// nearest neighbour by the count N-f-2 looks at one. With f <= 2 the last run looks at one in any case, and is a tie of
// the two that are closest, settled by position as all ties. The authors' later code selects only N-2f-2, so that no
// run of Krum is outside Krum's own condition; this follows the paper.
//
// Score: the scores of the first run of Krum, as krumRule; Neighbours likewise. Selected: best first.
//
// Cost: O(n^2 d + n log^2 n d), and O(n^3) for the runs of Krum, which share the distances and their order. With
// unsquared distances, or mixtures too far apart for int64, each run starts from scratch: O(n^3 log n).
//
// Source: El Mhamdi, Guerraoui, Rouault, "The Hidden Vulnerability of Distributed Learning in
// Byzantium", ICML 2018, section 4.
type bulyanRule struct{}

func (bulyanRule) Name() string { return "bulyan" }

func (bulyanRule) Condition(n, f int) error {
	if f < 0 || n < 4*f+3 {
		return fmt.Errorf("rules: %w: bulyan with N = %d, f = %d, want N >= 4f+3 = %d", ErrCondition, n, f, 4*f+3)
	}
	return nil
}

// Denominator returns beta, or included-2f if that is less, but never less than 0.
func (bulyanRule) Denominator(n, f, included int) int64 {
	return int64(max(0, min(n-2*f, included)-2*f))
}

func (bulyanRule) Cost() string { return "O(n^2 d + n log^2 n d + n^3)" }

func (bulyanRule) Source() string { return "El Mhamdi et al., ICML 2018, section 4" }

func (bulyanRule) feasible(n, f, included int) error {
	if n < 4*f+1 {
		return fmt.Errorf("rules: %w: bulyan with N = %d, f = %d has nothing to average, want N >= 4f+1 = %d",
			ErrInfeasible, n, f, 4*f+1)
	}
	err := krum.Feasible(n, f, included)
	if errors.Is(err, ErrTooFew) {
		return fmt.Errorf("rules: %w: bulyan with %d included of N = %d, f = %d, want at least N-f-1 = %d", ErrTooFew,
			included, n, f, n-f-1)
	}
	return err
}

func (r bulyanRule) aggregate(in Input, p points) (Output, error) {
	theta := min(in.N-2*in.F, p.len())
	d := p.distances()
	first, err := d.selectBest(1, p.options(in))
	if err != nil {
		return Output{}, err
	}
	var selected []int
	if d.wide != nil || in.Unsquared || max(largest(d.narrow), p.floor) > math.MaxInt64/gradients.MaxParticipants {
		selected = d.repeatKrum(theta, p.options(in))
	} else {
		selected = repeatKrum(d.narrow, theta, p.options(in))
	}
	out := Output{
		Delta:    p.subset(selected).nearMedian(theta - 2*in.F),
		Selected: p.entered(selected),
		Score:    first.Score,
		Margin:   -1,
	}
	if p.members == nil {
		out.Neighbours = first.Neighbours
	}
	return out, nil
}

// repeatKrum returns the selections of theta runs of Krum, each among the gradients not selected
// before. Sums of distances must fit int64.
func repeatKrum(d *gradients.Distances, theta int, o krum.Options) []int {
	k := d.Len()
	near := krum.Nearest(d, k-1, o.Floor)
	left := make([]bool, k)
	for i := range left {
		left[i] = true
	}
	selected := make([]int, 0, theta)
	for n := o.N; len(selected) < theta; n-- {
		best, least := -1, int64(math.MaxInt64)
		for i, row := range near {
			if !left[i] {
				continue
			}
			score, q := int64(0), max(1, n-o.F-2)
			for _, j := range row {
				if left[j] && q > 0 {
					score += max(d.At(i, j), o.Floor)
					q--
				}
			}
			if score < least {
				best, least = i, score
			}
		}
		left[best] = false
		selected = append(selected, best)
	}
	return selected
}

// repeatKrum is the function repeatKrum for all distances and variants of the score.
func (d distances) repeatKrum(theta int, o krum.Options) []int {
	left := ascending(d.len())
	selected := make([]int, 0, theta)
	for ; len(selected) < theta; o.N-- {
		best := 0 // of two, which share one distance, and of one
		if len(left) > 2 {
			run := o
			run.F = min(o.F, o.N-3)                  // at least one neighbour
			r, _ := d.among(left).selectBest(1, run) // fails only if the first run did
			best = r.Selected[0]
		}
		selected = append(selected, left[best])
		left = append(left[:best], left[best+1:]...)
	}
	return selected
}

func (d distances) len() int {
	if d.wide == nil {
		return d.narrow.Len()
	}
	return len(d.wide)
}
