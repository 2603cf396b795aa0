package rules

// lanes says how values are packed into words of 64 bits: bits wide each, the top bit of each lane 0, so that
// lanes are compared by one subtraction.
type lanes struct {
	bits  uint   // 16 or 32
	count int    // 64 / bits
	high  uint64 // the top bit of each lane
}

// lanesFor returns the narrowest lanes that hold values up to most < 2^31.
func lanesFor(most int64) lanes {
	if most < 1<<15 {
		return lanes{16, 4, 0x8000_8000_8000_8000}
	}
	return lanes{32, 2, 0x8000_0000_8000_0000}
}

// stripWords is the length of a strip: short enough for the strips of a hundred points to fit a level 1 cache, and long
// enough to make up for the walk through the network.
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

// at returns lane i of the strip.
func (l lanes) at(s *strip, i int) int64 {
	return int64(s[i/l.count] >> (uint(i%l.count) * l.bits) & (1<<l.bits - 1))
}

// pack writes q, each value plus bias, to the lanes of s, and zeros after them. The sums must be in [0, 2^bits).
func pack[E int8 | int16](l lanes, s *strip, q []E, bias int64) {
	for w := range s {
		var word uint64
		for i := 0; i < l.count && len(q) > 0; i++ {
			word |= uint64(int64(q[0])+bias) << (uint(i) * l.bits)
			q = q[1:]
		}
		s[w] = word
	}
}
