package accountant

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// maxTransform bounds the length of a Fourier transform, and with it time and memory: about 50 MB.
const maxTransform = 1 << 20

// part is a round's loss distribution and how often it is composed.
type part struct {
	losses
	rounds float64
}

// composition is the composition of all rounds in one direction, adding or removing the record: the
// distribution of the sum of independent losses.
//
// Its tail is far below the rounding errors of a Fourier transform. So the transform runs over an exponentially tilted
// distribution, in which a loss l has weight exp(lambda*l - M(lambda)), M being the sum of the rounds' log moment
// generating functions. Tilts commute with composition: the tilted rounds compose to the tilted composition. With
// lambda chosen for the epsilon in question that lies around epsilon, and an error of its total mass is one relative to
// exp(M - lambda*epsilon), the Chernoff bound of which delta is a fair share.
type composition struct {
	parts    []part
	step     float64
	infinite float64 // probability of an infinite loss in any round
	// rounding is how far a loss may be off for rounding, over all rounds.
	rounding float64
}

func newComposition(parts []part, step float64) composition {
	c := composition{parts: parts, step: step}
	for _, p := range parts {
		c.infinite += p.rounds * p.infinite
		c.rounding += p.rounds * 2e-15 * step * float64(len(p.mass))
	}
	c.infinite = min(c.infinite, 1)
	return c
}

// cumulant returns M(lambda) = Σ rounds * log Σ mass * exp(lambda*loss), without infinite losses.
func (c composition) cumulant(lambda float64) float64 {
	total := 0.0
	for _, p := range c.parts {
		total += p.rounds * p.logMGF(lambda*c.step)
	}
	return total
}

// logMGF returns log Σ mass[i] * exp(t*(low+i)).
func (d losses) logMGF(t float64) float64 {
	largest := math.Inf(-1)
	for i, logMass := range d.logMass {
		largest = max(largest, logMass+t*float64(i))
	}
	sum := 0.0
	for i, logMass := range d.logMass {
		if x := logMass + t*float64(i) - largest; x > -50 {
			sum += math.Exp(x)
		}
	}
	return t*float64(d.low) + largest + math.Log(sum)
}

// tilt returns the lambda with the least value of f, which falls and then rises, to 2 %.
func tilt(f func(lambda float64) float64) float64 {
	const least, most, factor = 1e-8, 1e9, 1.02
	at := func(i int) float64 { return least * math.Pow(factor, float64(i)) }
	known := map[int]float64{}
	_, i := lowest(int(math.Log(most/least)/math.Log(factor)), func(i int) float64 {
		if _, ok := known[i]; !ok {
			known[i] = f(at(i))
		}
		return known[i]
	})
	return at(i)
}

// tiltForDelta returns the lambda of the best Chernoff bound on epsilon at delta. It is the
// conversion of RDP, for the discretised losses: lambda = alpha - 1.
func (c composition) tiltForDelta(delta float64) float64 {
	return tilt(func(lambda float64) float64 { return orderEpsilon(1+lambda, c.cumulant(lambda), delta) })
}

// windowTail bounds the tilted mass on either side of the window.
const windowTail = 1e-12

// window returns indices that bound all but windowTail of the tilted composition on either side, by Chernoff's bound.
func (c composition) window(lambda float64) (low, high int) {
	var mean, variance float64
	for _, p := range c.parts {
		tilted := p.tilted(lambda * c.step)
		first, second := 0.0, 0.0
		for i, x := range tilted {
			first += x * float64(i)
		}
		for i, x := range tilted {
			second += x * (float64(i) - first) * (float64(i) - first)
		}
		mean, variance = mean+p.rounds*(float64(p.low)+first), variance+p.rounds*second
	}
	var bottom, top float64
	for _, p := range c.parts {
		bottom, top = bottom+p.rounds*float64(p.low), top+p.rounds*float64(p.high())
	}
	here, deviation := c.cumulant(lambda), max(math.Sqrt(variance), 0.05)
	for _, t := range []float64{1, 2, 4, 7, 12} {
		s := t / deviation // per index
		top = min(top, (c.cumulant(lambda+s/c.step)-here-math.Log(windowTail))/s)
		bottom = max(bottom, (here-c.cumulant(lambda-s/c.step)+math.Log(windowTail))/s)
	}
	// Rounding may put a window as narrow as a single loss beside it.
	return int(math.Floor(min(bottom, mean))), int(math.Ceil(max(top, mean)))
}

// tilted returns mass[i]*exp(t*(low+i)), normalised.
func (d losses) tilted(t float64) []float64 {
	logMGF := d.logMGF(t)
	x := make([]float64, len(d.mass))
	for i, mass := range d.mass {
		if mass > 0 {
			x[i] = mass * math.Exp(t*float64(d.low+i)-logMGF)
		}
	}
	return x
}

// curve is delta over epsilon, in one direction, from one tilt.
type curve struct {
	composition
	lambda  float64
	logMass float64   // M(lambda)
	low     int       // index of the loss of tilted[0]
	tilted  []float64 // the tilted composition
	err     float64   // bounds the tilted mass that is missing or misplaced for rounding or lies outside the window
}

// compose computes the curve of a tilt. Fill is the window's length over maxTransform; if it is
// above 1 there is no curve.
func (c composition) compose(lambda float64) (_ curve, fill float64) {
	low, high := c.window(lambda)
	if fill = float64(high-low+1) / maxTransform; fill > 1 {
		return curve{}, fill
	}
	n, levels := 16, 4.0
	for n < high-low+1 {
		n, levels = 2*n, levels+1
	}
	fft := fourier.NewFFT(n)
	logAbs, phase := make([]float64, n/2+1), make([]float64, n/2+1)
	sequence, spectrum := make([]float64, n), make([]complex128, n/2+1)
	var logMass, rounds, norms, inexact float64
	for _, p := range c.parts {
		clear(sequence)
		x := p.tilted(lambda * c.step)
		for i, v := range x { // losses n apart coincide, as do all that the transform composes
			sequence[mod(p.low+i, n)] += v
		}
		fft.Coefficients(spectrum, sequence)
		for k, v := range spectrum {
			logAbs[k] += p.rounds * min(math.Log(math.Hypot(real(v), imag(v))), 0)
			angle := phase[k] + p.rounds*math.Atan2(imag(v), real(v))
			phase[k] = angle - 2*math.Pi*math.Round(angle/(2*math.Pi))
		}
		logMGF := p.logMGF(lambda * c.step)
		logMass += p.rounds * logMGF
		rounds += p.rounds
		norms += p.rounds * norm(x)
		inexact += p.rounds * (10 + math.Abs(logMGF) + lambda*c.step*max(math.Abs(float64(p.low)),
			math.Abs(float64(p.high()))))
	}
	for k := range spectrum {
		sin, cos := math.Sincos(phase[k])
		abs := math.Exp(logAbs[k])
		spectrum[k] = complex(abs*cos, abs*sin)
	}
	fft.Sequence(sequence, spectrum)

	tilted := make([]float64, n)
	for i := range tilted {
		tilted[i] = max(sequence[mod(low+i, n)]/float64(n), 0)
	}
	return curve{
		composition: c, lambda: lambda, logMass: logMass, low: low, tilted: tilted,
		err: 2*windowTail + transformError(n, levels, rounds, norms, norm(tilted)) + 2*unit*inexact,
	}, fill
}

const unit = 0x1p-53

// transformError bounds the sum of the absolute errors of a distribution of length n = 2^levels
// composed by Fourier transform.
//
// A transform's relative error, in the Euclidean norm, is at most levels times 6.7 units for radix 2 (Higham, "Accuracy
// and stability of numerical algorithms", theorem 24.2); 10 allow for other kernels. That error of a round's spectrum,
// of norm sqrt(n)*‖x‖, counts once per round in the power, as spectra are at most 1. The power itself multiplies a
// phase of up to π, known to a few units, by the rounds, and a logarithm of no more than 745/rounds where anything is
// left. The transform back adds its share and divides norms by sqrt(n); a sum over n is at most sqrt(n) times a norm.
func transformError(n int, levels, rounds, norms, composed float64) float64 {
	transform := 10 * levels * unit
	power := (20*rounds + 2000) * unit
	return math.Sqrt(float64(n)) * (transform*norms + (power+transform)*composed)
}

func norm(x []float64) float64 {
	square := 0.0
	for _, v := range x {
		square += v * v
	}
	return math.Sqrt(square)
}

// mod returns i modulo n, at least 0.
func mod(i, n int) int { return ((i % n) + n) % n }
