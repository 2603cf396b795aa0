package krum

import "github.com/spdl/spdl/gradients"

// splitmix64 is Steele, Lea and Flood's generator.
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

// generate returns n int8 vectors whose coordinates lie in [-spread, spread].
func generate(n, d, spread int, seed uint64) []gradients.Vector {
	r := splitmix64(seed)
	vs := make([]gradients.Vector, n)
	for i := range vs {
		q := make([]int8, d)
		for k := range q {
			q[k] = int8(r.below(2*spread+1) - spread)
		}
		vs[i] = gradients.FromInt8(q)
	}
	return vs
}

// families of squared distances, from harmless to built to confuse.
var families = map[string]func(r *splitmix64) int64{
	"ties":            func(r *splitmix64) int64 { return int64(r.below(4)) },
	"zeros":           func(r *splitmix64) int64 { return int64(r.below(20) / 19) },
	"small":           func(r *splitmix64) int64 { return int64(r.below(1000)) },
	"gradients":       func(r *splitmix64) int64 { return int64(900000 + r.below(200000)) },
	"multiples of 2":  func(r *splitmix64) int64 { k := int64(r.below(9)); return 2 * k * k },
	"two classes":     func(r *splitmix64) int64 { k := int64(r.below(5)); return []int64{2, 3}[r.below(2)] * k * k },
	"neighbours":      func(r *splitmix64) int64 { return 1<<50 + int64(r.below(4)) },
	"largest narrow":  func(r *splitmix64) int64 { return 1<<51 - 1 - int64(r.below(3)) },
	"least wide":      func(r *splitmix64) int64 { return 1<<51 - 1 + int64(r.below(3)) },
	"largest int64":   func(r *splitmix64) int64 { return 1<<63 - 1 - int64(r.below(3)) },
	"any magnitude":   func(r *splitmix64) int64 { return int64(r.next() >> (1 + r.below(63))) },
	"squares or next": func(r *splitmix64) int64 { k := int64(1<<20 + r.below(3)); return k*k + int64(r.below(2)) },
}

// draw returns a symmetric matrix of one family.
func draw(r *splitmix64, n int, family func(*splitmix64) int64) *gradients.Distances {
	return gradients.DistancesOf(n, func(int, int) int64 { return family(r) })
}
