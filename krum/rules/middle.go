package rules

import "github.com/spdl/spdl/gradients"

// middleMean returns, for each coordinate, the mean of the points' values with ranks in [from, to).
func (p points) middleMean(from, to int) gradients.Fraction {
	return p.columns(middle{from: from, to: to, network: middleNetwork(p.len(), from, to)})
}

// A middle computes the mean of a range of ranks of each coordinate.
//
// A sorting network treats a strip of coordinates of all points at a time: with assembly kernels where the CPU has them
// (wideBlock), and elsewhere with a pure-Go twin (block), whose values are shifted to be at least 0, which keeps their
// order, and packed four or two to a word. All of it is comparing and adding integers, so the choice does not show in
// the result. Blocks of coordinates run on all cores.
type middle struct {
	points
	from, to int
	nearer   nearer
	network  []comparator
	sums     []sum // of the members; set if members is

	// These fields are for the pure-Go twin.
	bias  int64
	lanes lanes

	// These fields are for the kernels.
	width    int      // bytes a lane
	offsets  []uint32 // of the strips that the network compares, two a comparator
	everyone []uint16 // all positions of vectors
}

// columns runs m. The caller has set the ranks and the network.
func (p points) columns(m middle) gradients.Fraction { return p.columnsWith(m, haveKernels) }

// columnsWith lets tests choose between the kernels and the twin.
func (p points) columnsWith(m middle, kernels bool) gradients.Fraction {
	w, d := gradients.Shape(p.vectors)
	m.points = p
	if p.members != nil {
		m.sums = p.sums()
	}
	block := m.block
	most := w.Max() * int64(p.size()) // at most 2^14 * 2^12
	if kernels {
		m.prepare(most)
		block = m.wideBlock
	} else {
		m.bias = w.Max()
		m.lanes = lanesFor(2 * most)
	}
	f := gradients.Fraction{Num: make([]int64, d), Den: int64(m.to-m.from) * int64(p.size())}
	gradients.InBlocks(d, 4*(len(m.network)+len(p.vectors)), func(lo, hi int) {
		block(f.Num[lo:hi], lo)
	})
	return f
}

// block writes the numerators of coordinates lo to lo+len(num).
func (m *middle) block(num []int64, lo int) {
	vectors, values := make([]strip, len(m.vectors)), []strip(nil)
	if m.members != nil {
		values = make([]strip, len(m.members))
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
		m.nearer.choose(m.lanes, points)
		m.lanes.sum(num[:hi-lo], points[m.from:m.to], m.bias*int64(m.size()*(m.to-m.from)))
		num = num[hi-lo:]
	}
}

// A sum says how a point's value is added up: from its members or, if these are most of the
// vectors, as the sum of all vectors minus the other vectors.
type sum struct {
	less bool
	of   []uint16
}

// sums returns the sum for each point.
func (p points) sums() []sum {
	sums := make([]sum, len(p.members))
	for i, members := range p.members {
		sums[i] = sum{of: short(members)}
		if rest := p.others(members); rest != nil && len(rest) < len(members) {
			sums[i] = sum{less: true, of: short(rest)}
		}
	}
	return sums
}

// short returns positions, at most 2^12, in 16 bits each.
func short(positions []int) []uint16 {
	of := make([]uint16, len(positions))
	for i, k := range positions {
		of[i] = uint16(k)
	}
	return of
}

// ascending16 returns 0 to n-1.
func ascending16(n int) []uint16 { return short(ascending(n)) }

// others returns the positions that are not among members, or nil if a member occurs twice.
func (p points) others(members []int) []int {
	isMember := make([]bool, len(p.vectors))
	for _, k := range members {
		if isMember[k] {
			return nil
		}
		isMember[k] = true
	}
	rest := make([]int, 0, len(p.vectors)-len(members))
	for k, m := range isMember {
		if !m {
			rest = append(rest, k)
		}
	}
	return rest
}

// mix writes the sums of the members' strips. The sum of all vectors may overflow a lane; the differences are right
// nevertheless, because whole words are summed modulo 2^64 and each final lane fits.
func (m *middle) mix(values, vectors []strip) {
	var total strip
	for i := range vectors {
		total.add(&vectors[i])
	}
	for i, s := range m.sums {
		if s.less {
			values[i] = total
			for _, k := range s.of {
				values[i].subtract(&vectors[k])
			}
			continue
		}
		values[i] = vectors[s.of[0]]
		for _, k := range s.of[1:] {
			values[i].add(&vectors[k])
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
