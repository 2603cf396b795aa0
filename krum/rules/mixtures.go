package rules

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// distances are the squared distances of points, in squared grid steps times size^2, without the floor. Exactly one of
// the fields is set: wide if squared distances of sums of vectors may exceed int64.
type distances struct {
	narrow *gradients.Distances
	wide   [][]*big.Int
}

// distances computes them from those of the vectors, without forming mixtures. For sums a and b of
// equally many vectors,
//
//	|a - b|^2 = S(a, b) - S(a, a)/2 - S(b, b)/2
//
// where S(a, b) is the sum of the squared distances of each member of a to each member of b: expand the left side for
// coefficients c with sum 0, as -1/2 * sum over k, l of c_k c_l |x_k - x_l|^2. That costs O(n^3) rather than O(n^2 d),
// and it is exact. S(a, a) is even, for it counts each pair twice.
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

// largestSum returns size^2 times the largest squared distance, which no S exceeds, unless it overflows.
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
	n, sums := len(p.members), p.sums()
	// toMembers[k][i] is the sum of the squared distances of vector k to the members of i.
	toMembers := transposed(addUp(sums, rowsOf(p.pairs), 0))
	// between[i][j-i] is that of the members of i to those of j, i <= j.
	between := addUp(sums, toMembers, 1)
	return gradients.DistancesOf(n, func(i, j int) int64 {
		return between[i][j-i] - between[i][0]/2 - between[j][0]/2
	})
}

// rowsOf returns the rows of d, to be read only.
func rowsOf(d *gradients.Distances) [][]int64 {
	rows := make([][]int64, d.Len())
	for i := range rows {
		rows[i] = d.Row(i)
	}
	return rows
}

// addUp returns the sum of rows for each of sums; of sum i without its first i*skip columns. The
// sum of all rows may overflow, its differences to the others are right nevertheless.
func addUp(sums []sum, rows [][]int64, skip int) [][]int64 {
	total := make([]int64, len(rows[0]))
	addRows(total, rows, ascending16(len(rows)), 0)
	out := make([][]int64, len(sums))
	gradients.InParallel(len(sums), len(sums[0].of)*len(total), func(i int) {
		out[i] = make([]int64, len(total)-i*skip)
		addRows(out[i], rows, sums[i].of, i*skip)
		if sums[i].less {
			for j, x := range total[i*skip:] {
				out[i][j] = x - out[i][j]
			}
		}
	})
	return out
}

// addRows adds the rows at the positions, from column skip on, four at a time to save loads and stores.
func addRows(dst []int64, rows [][]int64, positions []uint16, skip int) {
	for ; len(positions) >= 4; positions = positions[4:] {
		r0, r1 := rows[positions[0]][skip:][:len(dst)], rows[positions[1]][skip:][:len(dst)]
		r2, r3 := rows[positions[2]][skip:][:len(dst)], rows[positions[3]][skip:][:len(dst)]
		for j := range dst {
			dst[j] += r0[j] + r1[j] + r2[j] + r3[j]
		}
	}
	for _, k := range positions {
		for j, x := range rows[k][skip:][:len(dst)] {
			dst[j] += x
		}
	}
}

// transposed returns the columns of rows.
func transposed(rows [][]int64) [][]int64 {
	columns, all := make([][]int64, len(rows[0])), make([]int64, len(rows)*len(rows[0]))
	for j := range columns {
		columns[j], all = all[:len(rows):len(rows)], all[len(rows):]
		for i, row := range rows {
			columns[j][i] = row[j]
		}
	}
	return columns
}

// wideMixtureDistances returns mixtureDistances in big integers.
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

// within returns the sum of the squared distances of each two members of point i, that is S(i, i)/2. pairs must be set.
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
