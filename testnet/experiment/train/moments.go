package train

import (
	"math"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/testnet/attack"
)

// moments are estimates from a round's honest gradients G_i, in gradient units. For n gradients,
// drawn independently with mean g and covariance S,
//
//	mean    = 1/n sum G_i                        which estimates g
//	spread  = 1/(n-1) sum |G_i - mean|^2         which estimates E|G - g|^2 = tr S
//
// without bias. The paper writes tr S as d(sigma^2 + sigma_f^2). Here sigma^2 is the variance of a
// coordinate's noise. The paper does not define sigma_f^2; it is the variance of a coordinate of a
// random batch's gradient, since the proof uses E|g_i - g_j|^2 <= 2 d sigma_f^2.
type moments struct {
	mean   []float64
	spread float64
}

// momentsOf estimates the moments from vectors in grid steps, none of which is silent. The spread of one vector is NaN.
func momentsOf(vectors []gradients.Vector, step float64) moments {
	n := float64(len(vectors))
	m := moments{mean: make([]float64, vectors[0].Len())}
	for j := range m.mean {
		var sum, squares float64
		for _, v := range vectors {
			x := float64(v.At(j))
			sum += x
			squares += x * x
		}
		m.mean[j] = step * sum / n
		m.spread += step * step * (squares - sum*sum/n) / (n - 1)
	}
	return m
}

// sums are the quantities of Theorem 2, over the rounds so far:
//
//	loss     = sum of F(A_t, X_t), where X_t are the batches of the honest participants
//	steepest = the greatest |mean|: the gradient of F at some A_t, so L_1 is no less
//	spread   = the greatest spread: d(sigma^2 + sigma_f^2) of the worst round
type sums struct{ loss, steepest, spread float64 }

func (s *sums) add(loss float64, m moments) {
	s.loss += loss
	s.steepest = max(s.steepest, math.Sqrt(attack.Dot(m.mean, m.mean)))
	s.spread = max(s.spread, m.spread)
}

func (s sums) columns() []float64 { return []float64{s.loss, s.steepest, s.spread} }
