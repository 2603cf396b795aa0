//go:build (amd64 || arm64) && !noasm

package rules

import (
	"sync"
	"unsafe"

	"github.com/spdl/spdl/gradients"
)

const (
	// stripBytes is the length of a strip of the kernels, 4 AVX2 or 8 NEON registers: the strips of
	// three hundred points fit a level 1 cache, those of several thousand level 2.
	stripBytes = 128
	// narrowSum is how many int8 values, at most 127, add up to less than 2^15.
	narrowSum = 256
)

// wide is a goroutine's scratch memory for work on one block with the kernels. It is pooled.
type wide struct {
	rows    []unsafe.Pointer // where each vector's coordinates begin; cleared before it goes back
	tail    []byte           // a strip a vector: the ragged end of the rows, padded with zeros
	vectors []byte           // a strip a vector, and two more: zeros, and the sum of all
	values  []byte           // a strip a mixture
	sums    [stripBytes]int64
}

var wides = sync.Pool{New: func() any { return new(wide) }}

// strips returns room for n strips, b itself if it is long enough, on a multiple of 64 bytes.
func strips(b []byte, n int) []byte {
	if len(b) < n*stripBytes {
		b = make([]byte, n*stripBytes+63)
		skip := -uintptr(unsafe.Pointer(&b[0])) & 63
		b = b[skip : skip+uintptr(n*stripBytes)]
	}
	return b
}

// at returns strip i.
func at(b []byte, i int) unsafe.Pointer { return unsafe.Pointer(&b[i*stripBytes]) }

// prepare chooses the lanes' width, for values up to most, and lists what the kernels walk through.
func (m *middle) prepare(most int64) {
	switch {
	case most < 1<<7 && m.members == nil:
		m.width = 1
	case most < 1<<15:
		m.width = 2
	default:
		m.width = 4
	}
	m.offsets = make([]uint32, 0, 2*len(m.network))
	for _, c := range m.network {
		m.offsets = append(m.offsets, uint32(c.lo*stripBytes), uint32(c.hi*stripBytes))
	}
	m.everyone = ascending16(len(m.vectors))
}

// wideBlock is block with the kernels. Lanes are signed, so nothing is shifted, and as narrow as
// the values allow: 8 bits hold a coordinate, at most 127, 16 bits one of at most 16383 or a sum of
// 258 that are at most 127, and 32 bits every sum, which is below 2^26. Sums of int8 values that
// need 32 bits are made from strips of 16-bit lanes, half a strip at a time.
func (m *middle) wideBlock(num []int64, lo int) {
	s := wides.Get().(*wide)
	source := m.width // bytes a lane of the vectors' strips
	if m.width == 4 && m.vectors[0].Width() == gradients.Int8 {
		source = 2
	}
	s.vectors = strips(s.vectors, len(m.vectors)+2)
	s.values = strips(s.values, len(m.members)+1)
	s.find(m.vectors)
	for columns := stripBytes / source; len(num) > 0; lo += columns {
		s.load(m, source, lo, lo+min(columns, len(num)))
		for half := 0; half < stripBytes && len(num) > 0; half += stripBytes * source / m.width {
			points := s.vectors
			if m.members != nil {
				s.mix(m, half)
				points = s.values
			}
			m.order(points)
			part := min(len(num), stripBytes/m.width)
			s.add(m, num[:part], points)
			num = num[part:]
		}
	}
	clear(s.rows) // or the pool would keep the round's gradients alive
	wides.Put(s)
}

// find notes where the vectors' coordinates begin.
func (s *wide) find(vectors []gradients.Vector) {
	s.rows = s.rows[:0]
	for _, v := range vectors {
		if v.Width() == gradients.Int8 {
			s.rows = append(s.rows, unsafe.Pointer(unsafe.SliceData(v.Int8s())))
		} else {
			s.rows = append(s.rows, unsafe.Pointer(unsafe.SliceData(v.Int16s())))
		}
	}
}

// load writes the vectors' strips, of lanes of source bytes, from coordinates [lo, hi). If these
// are fewer than a strip holds, they are the last: the rows end in copies with zeros after them,
// and nothing is ever read past the end of a vector.
func (s *wide) load(m *middle, source, lo, hi int) {
	width := int(m.vectors[0].Width())
	off := lo * width
	if hi-lo < stripBytes/source {
		s.tail = strips(s.tail, len(m.vectors))
		clear(s.tail)
		for i, row := range s.rows {
			s.rows[i] = at(s.tail, i)
			from := unsafe.Slice((*byte)(unsafe.Add(row, off)), (hi-lo)*width)
			copy(s.tail[i*stripBytes:(i+1)*stripBytes], from)
		}
		off = 0
	}
	spread := spreadSame
	switch {
	case width == 1 && source == 2:
		spread = spread8to16
	case width == 2 && source == 4:
		spread = spread16to32
	}
	spread(at(s.vectors, 0), &s.rows[0], len(s.rows), off)
}

// mix writes the mixtures' strips.
func (s *wide) mix(m *middle, half int) {
	n := len(m.vectors)
	zeros, total := at(s.vectors, n), at(s.vectors, n+1)
	clear(unsafe.Slice((*byte)(zeros), stripBytes))
	m.addUp(total, zeros, s.vectors[half:], m.everyone, 0)
	for i, sum := range m.sums {
		if sum.less {
			m.addUp(at(s.values, i), total, s.vectors[half:], sum.of, -1)
		} else {
			m.addUp(at(s.values, i), zeros, s.vectors[half:], sum.of, 0)
		}
	}
}

// addUp writes the base plus or minus the sum of the vectors' strips of the given positions.
func (m *middle) addUp(dst, base unsafe.Pointer, vectors []byte, of []uint16, sign int) {
	from := unsafe.Pointer(&vectors[0])
	switch {
	case m.width == 2:
		mix16(dst, base, from, unsafe.SliceData(of), len(of), sign)
	case m.vectors[0].Width() == gradients.Int16:
		mix32(dst, base, from, unsafe.SliceData(of), len(of), sign)
	default:
		for len(of) > narrowSum {
			mixHalf(dst, base, from, unsafe.SliceData(of), narrowSum, sign)
			of, base = of[narrowSum:], dst
		}
		mixHalf(dst, base, from, unsafe.SliceData(of), len(of), sign)
	}
}

// order applies the network and the replacements to the points' strips.
func (m *middle) order(points []byte) {
	exchange, nearer := exchange8, nearer8
	switch m.width {
	case 2:
		exchange, nearer = exchange16, nearer16
	case 4:
		exchange, nearer = exchange32, nearer32
	}
	if len(m.network) > 0 {
		exchange(at(points, 0), &m.offsets[0], len(m.network))
	}
	v := m.nearer
	for s := v.first; s < v.last; s++ {
		nearer(at(points, s), at(points, s+v.take), at(points, v.lo), at(points, v.hi))
	}
}

// add adds the ranks that count to num, as far as it goes; num holds zeros.
func (s *wide) add(m *middle, num []int64, points []byte) {
	out := num
	if len(num) < stripBytes/m.width {
		out = s.sums[:]
		clear(out)
	}
	for from := m.from; from < m.to; from += narrowSum {
		count := min(narrowSum, m.to-from)
		switch m.width {
		case 1:
			sum8(&out[0], at(points, from), count)
		case 2:
			sum16(&out[0], at(points, from), count)
		case 4:
			sum32(&out[0], at(points, from), count)
		}
	}
	if len(num) < stripBytes/m.width {
		copy(num, out)
	}
}
