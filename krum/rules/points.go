package rules

import (
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// points are the inputs of a rule: the vectors themselves, mixtures of them, or buckets.
type points struct {
	vectors []gradients.Vector
	// members[i] holds the positions of the vectors whose sum is point i. All points have the same number of members, and
	// a vector that counts twice is listed twice. If members is nil, point i is vector i.
	members [][]int
	// pairs holds the distances of the vectors; nil until pairwise has computed them.
	pairs *gradients.Distances
	// floor is the lowest squared distance that the rule assumes between two points, in the unit of distances.
	floor int64
}

// len returns the number of points.
func (p points) len() int {
	if p.members == nil {
		return len(p.vectors)
	}
	return len(p.members)
}

// size returns the number of vectors in the sum that makes a point.
func (p points) size() int {
	if p.members == nil {
		return 1
	}
	return len(p.members[0])
}

// membersOf returns the positions of the vectors whose sum is point i.
func (p points) membersOf(i int) []int {
	if p.members == nil {
		return []int{i}
	}
	return p.members[i]
}

// subset returns the selected points.
func (p points) subset(selected []int) points {
	if p.members == nil {
		p.vectors = pick(p.vectors, selected)
	} else {
		p.members = pick(p.members, selected)
	}
	p.pairs = nil
	return p
}

// pick returns the elements of xs at the positions.
func pick[E any](xs []E, positions []int) []E {
	out := make([]E, len(positions))
	for k, i := range positions {
		out[k] = xs[i]
	}
	return out
}

// pairwise returns the squared distances of the vectors.
func (p points) pairwise() *gradients.Distances {
	if p.pairs != nil {
		return p.pairs
	}
	return gradients.Pairwise(p.vectors)
}

// mean returns the mean of the selected points. It adds up vectors, each as often as it occurs,
// rather than points. The kernels add up vectors that all occur once.
func (p points) mean(selected []int) gradients.Fraction {
	if p.members == nil && haveKernels {
		return p.subset(selected).columns(middle{to: len(selected)})
	}
	return gradients.WeightedMean(p.vectors, p.weights(selected))
}

// weights counts how often each vector occurs in the selected points.
func (p points) weights(selected []int) []int64 {
	weights := make([]int64, len(p.vectors))
	for _, i := range selected {
		if p.members == nil {
			weights[i]++
			continue
		}
		for _, k := range p.members[i] {
			weights[k]++
		}
	}
	return weights
}

// everybody returns the positions of all vectors.
func (p points) everybody() []int { return ascending(len(p.vectors)) }

// entered returns the positions of the vectors in the selected points: in the order of selection if
// points are vectors, else ascending.
func (p points) entered(selected []int) []int {
	if p.members == nil {
		return selected
	}
	var entered []int
	for k, w := range p.weights(selected) {
		if w > 0 {
			entered = append(entered, k)
		}
	}
	return entered
}

// best returns the mean of the m points with the least Krum scores.
func (p points) best(m int, in Input) (Output, error) {
	r, err := p.distances().selectBest(m, p.options(in))
	if err != nil {
		return Output{}, err
	}
	out := Output{Delta: p.mean(r.Selected), Selected: p.entered(r.Selected), Score: r.Score, Margin: r.Margin}
	if p.members == nil {
		out.Neighbours = r.Neighbours
	}
	return out, nil
}

// options returns the options of a Krum selection among p.
func (p points) options(in Input) krum.Options {
	return krum.Options{N: in.N, F: in.F, Unsquared: in.Unsquared, Floor: p.floor}
}
