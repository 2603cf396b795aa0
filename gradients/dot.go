package gradients

// Dot returns <a, b> in squared grid steps; |<a, b>| <= Max^2 MaxDim < 2^49. It panics if the shapes differ.
func Dot(a, b Vector) int64 {
	if w, _ := Shape([]Vector{a, b}); w == Int8 {
		return dot(a.i8, b.i8)
	}
	return dot(a.i16, b.i16)
}

// SquaredNorm returns <v, v>, below 2^49.
func (v Vector) SquaredNorm() int64 { return Dot(v, v) }

// SquaredDistance returns the sum of (a_k - b_k)^2, below 2^51. It panics if the shapes differ. For
// all pairs of many vectors, Pairwise is far faster.
func SquaredDistance(a, b Vector) int64 {
	if w, _ := Shape([]Vector{a, b}); w == Int8 {
		return squaredDistance(a.i8, b.i8)
	}
	return squaredDistance(a.i16, b.i16)
}

// Several interleaved sums are no faster here: the loads and sign extensions bind, not the additions.

func dot[E int8 | int16](a, b []E) (s int64) {
	b = b[:len(a)]
	for k, x := range a {
		s += int64(x) * int64(b[k])
	}
	return s
}

func squaredDistance[E int8 | int16](a, b []E) (s int64) {
	b = b[:len(a)]
	for k, x := range a {
		d := int64(x) - int64(b[k])
		s += d * d
	}
	return s
}
