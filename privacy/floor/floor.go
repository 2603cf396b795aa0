// Package floor bounds the norm of an honest vector, as validators know it. The noise in the vector
// has a publicly known variance, so the mechanism did not make a vector that is much shorter than
// the noise alone, or longer than noise and clipped gradients together. All of it is the same on
// every CPU: sums, products, quotients and square roots of float64, none fused, then integers.
//
// The bounds keep out vectors without noise and vectors of unbounded length. They prove nothing: a
// worker can add the required noise and later subtract it from what it learns.
package floor

import (
	"math"
	"math/bits"
)

// Noise describes the mechanism of a chain: gaussian, with worker momentum or sums.
type Noise struct {
	Std      float64 // z*C/B, of one round's batch mean before momentum
	Momentum float64 // beta; at 1 a vector is the sum of all batch means
	Signal   float64 // bound on the norm of a batch mean without noise
	Step     float64 // of the grid
	Dim      int     // d
}

// Margins around the noise's expected norm s*sqrt(d), as shares of it. The norm of d Gaussians is within margin of it,
// except with a probability of about exp(-d*margin^2): at least five standard deviations of 1/sqrt(2d) each.
const (
	leastMargin   = 0.07
	marginStds    = 5
	distanceShare = 0.95 // of the noise's standard deviation, in the distance floor
)

// Weight returns the weight of a round's batch mean in the vector beta*m + weight*g: 1-beta, and 1 where
// beta is 1 and the vector a sum.
func Weight(beta float64) float64 {
	if beta == 1 {
		return 1
	}
	return 1 - beta
}

// VarianceFactor returns v_t = (1-beta)(1-beta^(2t))/(1+beta): the share of the noise variance that
// momentum leaves in the vector of release t, counted from 1, when every earlier release went
// through the same momentum. It rises from (1-beta)² at t=1 to (1-beta)/(1+beta); it is 0 for t <=
// 0. Beta is in [0, 1]; at 1 the vector is the sum of t batch means, and v_t is t.
//
// It is computed as (1-beta)² times the geometric sum it comes from, whose terms
// are all positive: nothing cancels when beta is close to 1.
func VarianceFactor(beta float64, t int) float64 {
	if t <= 0 {
		return 0
	}
	return float64(Weight(beta)*Weight(beta)) * geometric(float64(beta*beta), t)
}

// geometric returns 1 + x + ... + x^(n-1) for n >= 0, by doubling n from its leading bit down. The explicit conversions
// keep compilers from fusing a product into the sum that follows.
func geometric(x float64, n int) float64 {
	sum, next := 0.0, 1.0 // of the k terms that the bits so far stand for, and x^k
	for bit := bits.Len(uint(n)) - 1; bit >= 0; bit-- {
		sum += float64(sum * next)
		next = float64(next * next)
		if n>>bit&1 == 1 {
			sum = 1 + float64(sum*x)
			next = float64(next * x)
		}
	}
	return sum
}

// margin returns the share of the expected norm by which a vector may be shorter or longer.
func (n Noise) margin() float64 {
	return min(1, max(leastMargin, marginStds/math.Sqrt(float64(2*n.Dim))))
}

// norm returns the expected norm of the noise in the vector of release t, in grid steps.
func (n Noise) norm(t int) float64 {
	s := float64(n.Std * math.Sqrt(VarianceFactor(n.Momentum, t)))
	return float64(s*math.Sqrt(float64(n.Dim))) / n.Step
}

// Bounds returns the least and the greatest squared norm, in squared grid steps, of the vector of a participant that
// has made at least fewest and at most most releases, this one included. Rounding to the grid is within the margin.
func (n Noise) Bounds(fewest, most int) (least, greatest int64) {
	m, signal := n.margin(), n.Signal
	if n.Momentum == 1 {
		signal = float64(signal * float64(most))
	}
	low := float64((1 - m) * n.norm(fewest))
	high := float64((1+m)*n.norm(most)) + signal/n.Step + math.Sqrt(float64(n.Dim))/2
	return whole(math.Floor(float64(low * low))), whole(math.Ceil(float64(high * high)))
}

// Distance returns the least squared distance of two honest vectors of these releases. The rule
// credits any two vectors with at least this floor.
func (n Noise) Distance(fewest int) int64 {
	share := float64(distanceShare * n.norm(fewest))
	return whole(math.Floor(float64(2 * float64(share*share))))
}

// whole returns x as an integer, and 2^62 if x is larger or not a number: the conversion of such an
// x to int64 differs between CPUs.
func whole(x float64) int64 {
	if !(x < 1<<62) {
		return 1 << 62
	}
	return int64(x)
}
