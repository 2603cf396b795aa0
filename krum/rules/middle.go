package rules

import (
	"slices"

	"github.com/spdl/spdl/gradients"
)

// middleMean returns, for each coordinate, the mean of the points' values of ranks [from, to).
//
// Values are shifted to be at least 0, which keeps their order, and packed four or two to a word; a sorting network then
// treats a strip of coordinates of all points at a time. Blocks of coordinates run on all cores.
func (p points) middleMean(from, to int) gradients.Fraction {
	w, d := gradients.Shape(p.vectors)
	m := middle{
		points:  p,
		from:    from,
		to:      to,
		bias:    w.Max(),
		lanes:   lanesFor(2 * w.Max() * int64(p.size())), // at most 2^15 * 2^12
		network: middleNetwork(len(p.vectors), from, to),
	}
	if p.members != nil {
		m.complements = complements(p.members)
	}
	f := gradients.Fraction{Num: make([]int64, d), Den: int64(to-from) * int64(p.size())}
	gradients.InBlocks(d, 4*(len(m.network)+len(p.vectors)), func(lo, hi int) {
		m.block(f.Num[lo:hi], lo)
	})
	return f
}

// middle is a middleMean under way.
type middle struct {
	points
	from, to    int
	bias        int64
	lanes       lanes
	network     []comparator
	complements [][]int // if shorter than the members: the positions that are not mixed into a point
}

// block writes the numerators of coordinates lo to lo+len(num).
func (m *middle) block(num []int64, lo int) {
	vectors, values := make([]strip, len(m.vectors)), []strip(nil)
	if m.members != nil {
		values = make([]strip, len(m.vectors))
	}
	width := stripWords * m.lanes.count
	for ; len(num) > 0; lo += width {
		hi := lo + min(width, len(num))
		for i, v := range m.vectors {
			if v.Width() == gradients.Int8 {
				pack(m.lanes, &vectors[i], v.Int8s()[lo:hi], m.bias)
			} else {
				pack(m.lanes, &vectors[i], v.Int16s()[lo:hi], m.bias)
			}
		}
		points := vectors
		if m.members != nil {
			m.mix(values, vectors)
			points = values
		}
		for _, c := range m.network {
			m.lanes.exchange(&points[c.lo], &points[c.hi])
		}
		for j := range num[:hi-lo] {
			var sum int64
			for i := m.from; i < m.to; i++ {
				sum += m.lanes.at(&points[i], j)
			}
			num[j] = sum - m.bias*int64(m.size()*(m.to-m.from))
		}
		num = num[hi-lo:]
	}
}

// mix writes the sums of the members' strips, or, where that is less work, the sum of all strips less those of the
// others. Lanes may overflow into each other on the way; the last word is right nevertheless, because words are summed modulo
// 2^64 and the final lanes fit.
func (m *middle) mix(values, vectors []strip) {
	var total strip
	if m.complements != nil {
		for i := range vectors {
			total.add(&vectors[i])
		}
	}
	for i := range values {
		if m.complements == nil {
			values[i] = strip{}
			for _, k := range m.members[i] {
				values[i].add(&vectors[k])
			}
			continue
		}
		values[i] = total
		for _, k := range m.complements[i] {
			values[i].subtract(&vectors[k])
		}
	}
}

func (s *strip) add(o *strip) {
	for w := range s {
		s[w] += o[w]
	}
}

func (s *strip) subtract(o *strip) {
	for w := range s {
		s[w] -= o[w]
	}
}

// complements returns for each point the positions that are not its members, or nil if these are more than the members.
func complements(members [][]int) [][]int {
	n, size := len(members), len(members[0])
	if n-size >= size {
		return nil
	}
	out := make([][]int, n)
	for i := range members {
		out[i] = slices.DeleteFunc(ascending(n), func(k int) bool { return slices.Contains(members[i], k) })
	}
	return out
}
