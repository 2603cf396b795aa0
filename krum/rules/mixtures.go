package rules

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// distances are the squared distances of points, in squared grid steps times size^2, without the
// floor. Exactly one of the fields is set: wide if squared distances of sums of vectors may exceed
// int64.
type distances struct {
	narrow *gradients.Distances
	wide   [][]*big.Int
}

// distances computes them from those of the vectors, without forming mixtures. For sums a and b of
// equally many vectors,
//
//	|a - b|^2 = S(a, b) - S(a, a)/2 - S(b, b)/2
//
// where S(a, b) is the sum of the squared distances of each member of a to each member of b: expand
// the left side for coefficients c with sum 0, as -1/2 * sum over k, l of c_k c_l |x_k - x_l|^2.
// That costs O(n^3) rather than O(n^2 d), and it is exact. S(a, a) is even, for it counts each pair
// twice.
func (p points) distances() distances {
	p.pairs = p.pairwise()
	if p.members == nil {
		return distances{narrow: p.pairs}
	}
	if largest, ok := p.largestSum(); ok && largest <= math.MaxInt64 {
		return distances{narrow: p.mixtureDistances()}
	}
	return distances{wide: p.wideMixtureDistances()}
}

// selectBest runs Krum.
func (d distances) selectBest(m int, o krum.Options) (krum.Result, error) {
	if d.wide != nil {
		return krum.SelectWide(d.wide, m, o)
	}
	return krum.Select(d.narrow, m, o)
}

// among returns the distances of the points at the positions, in that order.
func (d distances) among(positions []int) distances {
	if d.wide == nil {
		return distances{narrow: gradients.DistancesOf(len(positions), func(i, j int) int64 {
			return d.narrow.At(positions[i], positions[j])
		})}
	}
	rows := pick(d.wide, positions)
	for i := range rows {
		rows[i] = pick(rows[i], positions)
	}
	return distances{wide: rows}
}

// largestSum returns size^2 times the largest squared distance, which no S exceeds, unless it
// overflows.
func (p points) largestSum() (sum uint64, ok bool) {
	hi, lo := bits.Mul64(uint64(largest(p.pairs)), uint64(p.size()*p.size()))
	return lo, hi == 0
}

// largest returns the largest squared distance.
func largest(d *gradients.Distances) int64 {
	var most int64
	for i := range d.Len() {
		for _, sq := range d.Row(i) {
			most = max(most, sq)
		}
	}
	return most
}

// mixtureDistances returns the squared distances of the points; no sum may exceed int64.
func (p points) mixtureDistances() *gradients.Distances {
	n := len(p.members)
	// toMembers[k*n+i] is the sum of the squared distances of vector k to the members of i.
	toMembers := make([]int64, p.pairs.Len()*n)
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
	n := len(p.members)
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
		within[i] = p.within(i)
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

// within returns the sum of the squared distances of each two members of point i, that is S(i,
// i)/2. pairs must be set.
func (p points) within(i int) *big.Int {
	sum, part := new(big.Int), new(big.Int)
	members := p.membersOf(i)
	for a, k := range members {
		var row uint64 // fewer than 2^12 terms below 2^51
		for _, l := range members[:a] {
			row += uint64(p.pairs.At(k, l))
		}
		sum.Add(sum, part.SetUint64(row))
	}
	return sum
}

// saturate returns x, or the largest int64 if x is larger. x is not negative.
func saturate(x *big.Int) int64 {
	if !x.IsInt64() {
		return math.MaxInt64
	}
	return x.Int64()
}
