package gradients

// splitmix64 is Steele, Lea and Flood's generator: a few lines of integer arithmetic, so that
// golden vectors do not depend on anybody's math/rand.
type splitmix64 uint64

func (s *splitmix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns an integer in [0, n).
func (s *splitmix64) below(n int) int { return int(s.next() % uint64(n)) }

// generate returns n vectors whose coordinates spread over the whole range.
func generate(w Width, n, d int, seed uint64) []Vector {
	r := splitmix64(seed)
	vs := make([]Vector, n)
	for i := range vs {
		vs[i] = NewVector(w, d)
		for k := range d {
			vs[i].Set(k, int64(r.next()%uint64(2*w.Max()+1))-w.Max())
		}
	}
	return vs
}
