package rules

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// selectMixtures runs Krum on mixtures without forming them. For sums a and b of equally many vectors,
//
//	|a - b|^2 = S(a, b) - S(a, a)/2 - S(b, b)/2
//
// where S(a, b) is the sum of the squared distances of each member of a to each member of b: expand the left side for
// coefficients c with sum 0, as -1/2 * sum over k, l of c_k c_l |x_k - x_l|^2. That costs O(n^3) rather than O(n^2 d),
// and it is exact. S(a, a) is even, for it counts each pair twice.
func (p points) selectMixtures(m int, o krum.Options) (krum.Result, error) {
	if largest, ok := p.largestSum(); ok && largest <= math.MaxInt64 {
		return krum.Select(p.mixtureDistances(), m, o)
	}
	return krum.SelectWide(p.wideMixtureDistances(), m, o)
}

// largestSum returns size^2 times the largest squared distance, which no S exceeds, unless it overflows.
func (p points) largestSum() (sum uint64, ok bool) {
	var largest int64
	for i := range p.pairs.Len() {
		for _, sq := range p.pairs.Row(i) {
			largest = max(largest, sq)
		}
	}
	hi, lo := bits.Mul64(uint64(largest), uint64(p.size()*p.size()))
	return lo, hi == 0
}

// mixtureDistances returns the squared distances of the points; no sum may exceed int64.
func (p points) mixtureDistances() *gradients.Distances {
	n := p.pairs.Len()
	toMembers := make([]int64, n*n) // toMembers[k*n+i]: sum of the squared distances of vector k to the members of i
	for i, members := range p.members {
		for _, l := range members {
			for k, sq := range p.pairs.Row(l) {
				toMembers[k*n+i] += sq
			}
		}
	}
	between := make([]int64, n*n)
	for i, members := range p.members {
		row := between[i*n : (i+1)*n]
		for _, k := range members {
			for j, sq := range toMembers[k*n : (k+1)*n] {
				row[j] += sq
			}
		}
	}
	return gradients.DistancesOf(n, func(i, j int) int64 {
		return between[i*n+j] - between[i*n+i]/2 - between[j*n+j]/2
	})
}

// wideMixtureDistances is mixtureDistances in big integers.
func (p points) wideMixtureDistances() [][]*big.Int {
	n := p.pairs.Len()
	between := func(i, j int) *big.Int {
		sum, sq := new(big.Int), new(big.Int)
		for _, k := range p.members[i] {
			row := p.pairs.Row(k)
			for _, l := range p.members[j] {
				sum.Add(sum, sq.SetInt64(row[l]))
			}
		}
		return sum
	}
	within := make([]*big.Int, n)
	sq := make([][]*big.Int, n)
	for i := range n {
		within[i] = between(i, i)
		within[i].Rsh(within[i], 1)
		sq[i] = make([]*big.Int, n)
		sq[i][i] = new(big.Int)
		for j := range i {
			x := between(i, j)
			x.Sub(x, within[i]).Sub(x, within[j])
			sq[i][j], sq[j][i] = x, x
		}
	}
	return sq
}
