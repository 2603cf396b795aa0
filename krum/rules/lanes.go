package rules

// lanes says how values are packed into words of 64 bits. Each lane is bits wide and has its top
// bit 0, so that one subtraction compares all lanes.
type lanes struct {
	bits   uint   // 16 or 32
	count  int    // 64 / bits
	high   uint64 // the top bit of each lane
	even   uint64 // all bits of the lanes 0, 2
	double uint64 // all bits of one lane of twice the width
}

// lanesFor returns the narrowest lanes that hold values up to most < 2^31.
func lanesFor(most int64) lanes {
	if most < 1<<15 {
		return lanes{16, 4, 0x8000_8000_8000_8000, 0x0000_ffff_0000_ffff, 1<<32 - 1}
	}
	return lanes{32, 2, 0x8000_0000_8000_0000, 0x0000_0000_ffff_ffff, 1<<64 - 1}
}

// stripWords is the length of a strip: short enough for the strips of a hundred points to fit a
// level 1 cache, and long enough to make up for the walk through the network.
const stripWords = 16

// strip holds consecutive coordinates of one point.
type strip [stripWords]uint64

// exchange puts the lesser of each two lanes into a, the greater into b.
func (l lanes) exchange(a, b *strip) {
	high, shift := l.high, (l.bits-1)&63
	for w := range a {
		x, y := a[w], b[w]
		// With the top bit set, a lane of x cannot borrow from the next; the bit survives where x >= y.
		ge := ((x | high) - y) & high
		swap := (x ^ y) & (ge - ge>>shift) // all lower bits of these lanes
		a[w], b[w] = x^swap, y^swap
	}
}

// pack writes the values of q, each plus bias, to the lanes of s in order, and zeros after them.
// Each sum must fit a lane.
func pack[E int8 | int16](l lanes, s *strip, q []E, bias int64) {
	w := 0
	if l.count == 4 {
		biases := uint64(bias) * 0x0001_0001_0001_0001
		for ; len(q) >= 4 && w < stripWords; w++ {
			// A negative value borrows from the lanes above it, and its bias pays that back.
			s[w] = uint64(int64(q[0])+int64(q[1])<<16+int64(q[2])<<32+int64(q[3])<<48) + biases
			q = q[4:]
		}
	} else {
		biases := uint64(bias) * 0x0000_0001_0000_0001
		for ; len(q) >= 2 && w < stripWords; w++ {
			s[w] = uint64(int64(q[0])+int64(q[1])<<32) + biases
			q = q[2:]
		}
	}
	clear(s[w:])
	for i, x := range q {
		s[w] |= uint64(int64(x)+bias) << (uint(i) * l.bits)
	}
}

// sum writes to sums the sum of each lane of the rows, minus shift, in order, as far as sums goes. Lanes are added up
// in lanes twice as wide, those at even places apart from those at odd ones: 4096 rows below 2^15 stay below 2^32.
func (l lanes) sum(sums []int64, rows []strip, shift int64) {
	bits := l.bits & 63
	for w := 0; len(sums) > 0; w++ {
		var even, odd uint64
		for i := range rows {
			x := rows[i][w]
			even += x & l.even
			odd += x >> bits & l.even
		}
		for c := 0; c < l.count && len(sums) > 0; c += 2 {
			at := uint(c) * bits
			sums[0] = int64(even>>at&l.double) - shift
			if len(sums) > 1 {
				sums[1] = int64(odd>>at&l.double) - shift
			}
			sums = sums[min(2, len(sums)):]
		}
	}
}
