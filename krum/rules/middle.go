package rules

import "github.com/spdl/spdl/gradients"

// middleMean returns, for each coordinate, the mean of the points' values of ranks [from, to).
//
// Values are shifted to be at least 0, which keeps their order, and packed four or two to a word; a sorting network
// then treats a strip of coordinates of all points at a time. Blocks of coordinates run on all cores.
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
		m.others = others(p.members)
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
	from, to int
	bias     int64
	lanes    lanes
	network  []comparator
	others   [][]int // for each point the positions that are not its members; set if members is
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
		m.lanes.sum(num[:hi-lo], points[m.from:m.to], m.bias*int64(m.size()*(m.to-m.from)))
		num = num[hi-lo:]
	}
}

// mix writes the sums of the members' strips: the sum of all strips less those of the f others, which are fewer than
// the members wherever a rule's condition holds. The sum of all may overflow a lane; the differences are right
// nevertheless, because whole words are summed modulo 2^64 and each final lane fits.
func (m *middle) mix(values, vectors []strip) {
	var total strip
	for i := range vectors {
		total.add(&vectors[i])
	}
	for i := range values {
		values[i] = total
		for _, k := range m.others[i] {
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

// others returns for each point the positions that are not its members.
func others(members [][]int) [][]int {
	out := make([][]int, len(members))
	for i := range members {
		isMember := make([]bool, len(members))
		for _, k := range members[i] {
			isMember[k] = true
		}
		for k, m := range isMember {
			if !m {
				out[i] = append(out[i], k)
			}
		}
	}
	return out
}
