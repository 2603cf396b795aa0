package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// bucketSize is s, the number of gradients in a bucket.
const bucketSize = 2

// bucketedRule applies a rule to the means of buckets of s = 2 gradients, put together in an order
// that Input.Seed determines. If the number of included gradients is odd, the last bucket has one,
// and counts as much as the other buckets. Means share a denominator, so buckets are kept as sums,
// a gradient that is alone counted twice, and the denominator of Delta grows by the factor 2.
//
// N participants make N' = ceil(N/2) buckets, of which up to f' = f may hold a Byzantine gradient; silent participants
// make silent buckets, and included gradients make ceil(included/2). The rule works with N', f' and these.
//
// The order is that of the SHA-256 hashes of a tag, the seed and the position among the included
// gradients, as 32 bits little endian: see bucketOrder. It takes in nothing that a sender chooses
// in the round, since the last sender could try out vectors until it likes the order. The leader
// chooses the included set, and so can still choose among the orders of the sets that it may
// include; every participant that knows the seed knows the order of a full set before it submits.
//
// Resilience: the rule's condition for N' and f, for instance N >= 4f+1 where the rule needs 2f+1. In exchange buckets
// differ less than gradients, as the rules need under heterogeneous data. The published guarantee is an expectation
// over orders that are uniform and independent of the gradients.
//
// Cost: O(n log n) for the order, then the rule's with half of the points.
//
// Source: Karimireddy, He, Jaggi, "Byzantine-Robust Learning on Heterogeneous Datasets via
// Bucketing", ICLR 2022, algorithm 1.
type bucketedRule struct{ aggregator }

func (r bucketedRule) Name() string { return "bucketing+" + r.aggregator.Name() }

func (r bucketedRule) Condition(n, f int) error {
	if err := r.aggregator.Condition(buckets(n), f); err != nil {
		return fmt.Errorf("rules: N = %d in N' = %d buckets of %d: %w", n, buckets(n), bucketSize, err)
	}
	return nil
}

func (r bucketedRule) Denominator(n, f, included int) int64 {
	if f >= buckets(n) {
		return 0
	}
	return bucketSize * r.aggregator.Denominator(buckets(n), f, buckets(included))
}

func (r bucketedRule) Cost() string {
	return r.aggregator.Cost() + fmt.Sprintf(" with n/%d for n", bucketSize)
}

func (r bucketedRule) Source() string {
	return r.aggregator.Source() + "; bucketing: Karimireddy et al., ICLR 2022, algorithm 1"
}

func (r bucketedRule) Feasible(n, f, included int) error {
	if err := feasible(n, f, included); err != nil {
		return err
	}
	if f >= buckets(n) {
		return fmt.Errorf("rules: %w: N = %d in N' = %d buckets of %d, f = %d, want f < N'",
			ErrInfeasible, n, buckets(n), bucketSize, f)
	}
	if err := r.feasible(buckets(n), f, buckets(included)); err != nil {
		return fmt.Errorf("rules: N = %d in N' = %d buckets of %d, %d included in %d: %w",
			n, buckets(n), bucketSize, included, buckets(included), err)
	}
	return nil
}

func (r bucketedRule) Aggregate(in Input) (Output, error) {
	if err := in.check(r); err != nil {
		return Output{}, err
	}
	in.N = buckets(in.N)
	p := points{vectors: in.Vectors, floor: math.MaxInt64}
	if in.Floor <= math.MaxInt64/bucketSize {
		// Of sums of s gradients each the difference has s times the noise, squared, of a difference of gradients.
		p.floor = bucketSize * in.Floor
	}
	order := bucketOrder(in.Seed, len(in.Vectors))
	for len(order) > 0 {
		p.members = append(p.members, []int{order[0], order[min(1, len(order)-1)]})
		order = order[min(bucketSize, len(order)):]
	}
	out, err := r.aggregate(in, p)
	if err != nil {
		return Output{}, err
	}
	return p.perVector(out), nil
}

// buckets returns the number of buckets for n gradients.
func buckets(n int) int { return (n + bucketSize - 1) / bucketSize }

// bucketOrder returns positions 0 to k-1 by SHA-256("spdl bucketing" | seed | position), the position in four bytes,
// little endian; hashes are compared byte by byte from the first on. Two adjacent ones share a bucket.
func bucketOrder(seed []byte, k int) []int {
	hashes := make([][sha256.Size]byte, k)
	preimage := append([]byte("spdl bucketing"), seed...)
	for i := range hashes {
		hashes[i] = sha256.Sum256(binary.LittleEndian.AppendUint32(preimage, uint32(i)))
	}
	order := ascending(k)
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(hashes[i][:], hashes[j][:]) })
	return order
}

// perVector turns a rule's output for the buckets into an output for the vectors.
func (p points) perVector(out Output) Output {
	scores := out.Score
	out.Neighbours = make([][]int, len(p.vectors))
	if scores != nil {
		out.Score = make([]int64, len(p.vectors))
	}
	for b, members := range p.members {
		for at, i := range members {
			out.Neighbours[i] = []int{i}
			if other := members[1-at]; other != i {
				out.Neighbours[i] = append(out.Neighbours[i], other)
			}
			if scores != nil {
				out.Score[i] = scores[b]
			}
		}
	}
	return out
}
