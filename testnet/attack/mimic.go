package attack

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/gradients"
)

// mimic sends the gradient of one honest participant, the victim, whose data then counts F+1 times.
// The victim is the participant whose gradients lie farthest out along the direction in which the
// honest gradients vary most. The first rounds choose the victim, and it then stays the same.
func mimic(v View) []gradients.Vector {
	m := &mimicry{}
	if v.Memory != nil {
		m = &v.Memory.mimicry
	}
	if m.rounds < warmup {
		m.learn(v)
	}
	return v.each(func(int) gradients.Vector { return v.Honest[m.victim] })
}

// warmup is the number of rounds that choose the victim.
const warmup = 20

// mimicry holds estimates about the honest participants: the running mean of their gradients, and
// Oja's estimate of the direction in which they differ most.
type mimicry struct {
	rounds    int
	mean, way []float64 // way has length 1
	victim    int
}

// learn updates the running means with a round's gradients.
func (m *mimicry) learn(v View) {
	if m.rounds == 0 {
		m.mean, m.way = make([]float64, v.dim()), normal(difference(v.Honest[0], v.mean()))
	}
	old, fresh := float64(m.rounds)/float64(m.rounds+1), 1/float64(m.rounds+1)
	floats.Scale(old, m.mean)
	floats.AddScaled(m.mean, fresh, v.mean())
	way := floats.ScaleTo(make([]float64, v.dim()), old, m.way)
	most := math.Inf(-1)
	for i, h := range v.Honest {
		d := difference(h, m.mean)
		along := Dot(d, m.way)
		floats.AddScaled(way, fresh*along, d)
		if a := math.Abs(along); a > most { // the sign does not matter: a direction of variance has none
			most, m.victim = a, i
		}
	}
	m.way, m.rounds = normal(way), m.rounds+1
}

func difference(g gradients.Vector, mean []float64) []float64 {
	out := make([]float64, g.Len())
	for j := range out {
		out[j] = float64(g.At(j)) - mean[j]
	}
	return out
}

// Dot returns the inner product of two vectors of one length.
func Dot(a, b []float64) (sum float64) {
	for j := range a {
		sum += a[j] * b[j]
	}
	return sum
}

// normal scales a vector to length 1. The zero vector stays zero.
func normal(x []float64) []float64 {
	length := math.Sqrt(Dot(x, x))
	if length == 0 {
		return x
	}
	for j := range x {
		x[j] /= length
	}
	return x
}
