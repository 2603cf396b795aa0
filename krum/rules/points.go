package rules

import (
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// points are what a rule aggregates: the vectors themselves, or mixtures of them.
type points struct {
	vectors []gradients.Vector
	// members[i] are the positions of the vectors that point i is the sum of, itself first, the same number for every
	// point. nil: point i is vector i.
	members [][]int
	// pairs are the distances of the vectors; set if members is.
	pairs *gradients.Distances
}

// size is the number of vectors that a point is the sum of.
func (p points) size() int {
	if p.members == nil {
		return 1
	}
	return len(p.members[0])
}

// mean returns the mean of the selected points. It adds up vectors, each as often as it occurs, rather than points.
func (p points) mean(selected []int) gradients.Fraction {
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

// best returns the mean of the m points with the least Krum scores.
func (p points) best(m int, in Input) (Output, error) {
	o := krum.Options{N: in.N, F: in.F, Unsquared: in.Unsquared, Floor: in.Floor}
	if p.members == nil {
		r, err := krum.Select(gradients.Pairwise(p.vectors), m, o)
		if err != nil {
			return Output{}, err
		}
		return Output{p.mean(r.Selected), r.Selected, r.Score, r.Neighbours, r.Margin}, nil
	}
	o.Floor = 0 // it did its work when the neighbours were chosen
	r, err := p.selectMixtures(m, o)
	if err != nil {
		return Output{}, err
	}
	var entered []int
	for k, w := range p.weights(r.Selected) {
		if w > 0 {
			entered = append(entered, k)
		}
	}
	return Output{Delta: p.mean(r.Selected), Selected: entered, Score: r.Score, Margin: r.Margin}, nil
}
