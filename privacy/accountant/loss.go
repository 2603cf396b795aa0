package accountant

import "math"

// loss returns the privacy loss log(P/Q) of an outcome x: log(1 - q + q exp(s)), s = (2x - 1)/2z².
// It rises with x, from log(1-q).
func (m Mechanism) loss(x float64) float64 {
	q := m.SamplingRate
	switch s := (x - 0.5) / (m.NoiseMultiplier * m.NoiseMultiplier); {
	case q == 1:
		return s
	case s > 700: // where exp would overflow, and 1-q is nothing beside it
		return s + math.Log(q)
	case s > 0 || q*math.Expm1(s) > -0.5:
		return math.Log1p(q * math.Expm1(s))
	default: // 1 - q is exact here
		return math.Log(1 - q + q*math.Exp(s))
	}
}

// outcome returns the outcome of a loss, -Inf for losses that no outcome has.
func (m Mechanism) outcome(loss float64) float64 {
	q, variance := m.SamplingRate, m.NoiseMultiplier*m.NoiseMultiplier
	if q == 1 {
		return 0.5 + variance*loss
	}
	odds := math.Expm1(loss) + q // q exp(s), free of cancellation where loss is small
	switch {
	case loss > 700:
		return 0.5 + variance*(loss-math.Log(q))
	case loss < -0.5:
		odds = math.Exp(loss) - (1 - q)
	}
	if odds <= 0 {
		return math.Inf(-1)
	}
	return 0.5 + variance*(math.Log(odds)-math.Log(q))
}

// interval returns the outcomes below and above which P and Q each have probability tail at most,
// and how many standard deviations that is from their means.
func (m Mechanism) interval(tail float64) (reach, low, high float64) {
	reach = math.Sqrt(-2 * math.Log(tail)) // P(N(0,1) > x) < exp(-x²/2)/2
	return reach, -reach * m.NoiseMultiplier, 1 + reach*m.NoiseMultiplier
}

// lossRange returns the width of the losses in that interval.
func (m Mechanism) lossRange(tail float64) float64 {
	_, low, high := m.interval(tail)
	return m.loss(high) - m.loss(low)
}

// losses is a discrete distribution of a round's privacy loss, under the outcomes of the data set in the numerator: the
// loss is (low+i)*step with probability mass[i], and infinite with probability infinite. It dominates the true one:
// delta at every epsilon is at least as large, and stays so when rounds are composed.
type losses struct {
	low      int
	mass     []float64
	logMass  []float64 // -Inf where mass is 0
	infinite float64
}

func newLosses(low, high int) losses { return losses{low: low, mass: make([]float64, high-low+1)} }

func (d losses) high() int { return d.low + len(d.mass) - 1 }

// add puts mass into the cell whose lower end is index k, shared between its two ends.
func (d losses) add(k int, mass, upper float64) {
	upper = min(upper, mass)
	d.mass[k-d.low] += mass - upper
	d.mass[k+1-d.low] += upper
}

const (
	// panelWidth is the largest width of a quadrature panel, in the shortest length in which an
	// integrand changes: its error is then below 3e-11 of the integral.
	panelWidth = 0.2
	// massRounding is what is added to every mass for that, and for rounding.
	massRounding = 1e-10
)

// Gauss-Legendre nodes in (0, 1) and weights, exact to degree 5.
var (
	panelNodes   = [3]float64{0.5 - 0.3872983346207416885, 0.5, 0.5 + 0.3872983346207416885} // ∓ sqrt(3/5)/2
	panelWeights = [3]float64{5.0 / 18, 8.0 / 18, 5.0 / 18}
)

// discretize returns the distributions of a round's loss on a grid of the given step: for the
// neighbour without the record, log(P/Q) under P, and for the one with it, log(Q/P) under Q.
//
// In each cell [a, a+step] of losses the mass goes to the two ends, so shared that the masses of P and of Q in the cell
// both stay as they are ("connect the dots"): delta is the expectation under Q of a convex function of P/Q, which grows
// when P/Q spreads around its mean. The upper end's share of P is ∫ (1 - exp(a - loss)) dP / (1 - exp(-step)). Both
// integrals are over positive numbers, by quadrature in the outcome. Rounding is made good by extra mass; outcomes
// beyond the interval have an infinite loss, or the lowest cell's upper end.
func discretize(m Mechanism, step, tail float64) (remove, add losses) {
	q, z := m.SamplingRate, m.NoiseMultiplier
	reach, low, high := m.interval(tail)
	bottom, top := int(math.Floor(m.loss(low)/step)), int(math.Ceil(m.loss(high)/step))
	top = max(top, bottom+1)
	remove, add = newLosses(bottom, top), newLosses(-top, -bottom)

	width := panelWidth * min(z/reach, z*z)
	shared := -math.Expm1(-step)
	from := low
	for k := bottom; k < top; k++ {
		to := high
		if k+1 < top {
			to = min(max(m.outcome(float64(k+1)*step), from), high)
		}
		var massP, massQ, upperP, upperQ float64
		panels := math.Ceil((to - from) / width)
		for i := 0.0; i < panels; i++ {
			left := from + (to-from)*(i/panels)
			for j, node := range panelNodes {
				x := left + (to-from)/panels*node
				above := min(max(m.loss(x)-float64(k)*step, 0), step) // clamped against rounding
				density0, density1 := math.Exp(-x*x/(2*z*z)), math.Exp(-(x-1)*(x-1)/(2*z*z))
				p, q := panelWeights[j]*((1-q)*density0+q*density1), panelWeights[j]*density0
				massP, upperP = massP+p, upperP-p*math.Expm1(-above)
				massQ, upperQ = massQ+q, upperQ-q*math.Expm1(above-step)
			}
		}
		scale := (to - from) / max(panels, 1) / (z * math.Sqrt(2*math.Pi)) * (1 + massRounding)
		remove.add(k, massP*scale, upperP*scale/shared*(1+massRounding))
		add.add(-k-1, massQ*scale, upperQ*scale/shared*(1+massRounding))
		from = to
	}

	remove.infinite = ((1-q)*survival(high/z) + q*survival((high-1)/z)) * (1 + massRounding)
	add.infinite = survival(-low/z) * (1 + massRounding)
	remove.mass[1] += (1-q)*survival(-low/z) + q*survival((1-low)/z)
	add.mass[1] += survival(high / z)
	return remove.sealed(), add.sealed()
}

// sealed returns d with all fields filled in. Masses so small that their inverses overflow are given infinite losses.
func (d losses) sealed() losses {
	d.logMass = make([]float64, len(d.mass))
	for i, mass := range d.mass {
		if mass < 1e-300 {
			d.infinite += mass
			d.mass[i] = 0
		}
		d.logMass[i] = math.Log(d.mass[i])
	}
	return d
}
