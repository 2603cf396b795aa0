package accountant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spdl/spdl/internal/stage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Never below the exact Gaussian, and within 0.02 % of it.
func TestPLDAgainstAnalytic(t *testing.T) {
	for _, z := range []float64{0.3, 2, 500} {
		for _, rounds := range stage.Pick([]int{1, 100}, []int{1, 2, 100}, []int{1, 2, 100, 5000}) {
			for _, delta := range []float64{1e-12, 1e-6, 1e-2} {
				s := steps(1, z, rounds)
				exact, pld := epsilonOf(t, Analytic, delta, s), epsilonOf(t, PLD, delta, s)
				assert.GreaterOrEqual(t, pld, exact, "%+v delta=%v", s, delta)
				assert.LessOrEqual(t, pld, exact*1.0002, "%+v delta=%v", s, delta)
				if exact == 0 || exact > 1e4 {
					continue
				}
				exact, pld = deltaOf(t, Analytic, exact, s), deltaOf(t, PLD, exact, s)
				assert.GreaterOrEqual(t, pld, exact, "%+v delta=%v", s, delta)
				assert.LessOrEqual(t, pld, exact*1.005, "%+v delta=%v", s, delta)
			}
		}
	}
}

// onceDelta returns the delta of a single round in closed form: both directions have their losses
// above epsilon on one side of one outcome.
func onceDelta(m Mechanism, epsilon float64) float64 {
	q, z := m.SamplingRate, m.NoiseMultiplier
	upper := func(x float64) (p, r float64) { // r times exp(epsilon), which alone may overflow
		return (1-q)*survival(x/z) + q*survival((x-1)/z), math.Exp(epsilon + logSurvival(x/z))
	}
	// log(P/Q) > epsilon where q exp(s) > exp(epsilon) - 1 + q. Go's Expm1 is NaN just below
	// 709.78.
	s := math.Log((math.Expm1(epsilon) + q) / q)
	if epsilon > 700 {
		s = epsilon - math.Log(q)
	}
	p, r := upper(0.5 + z*z*s)
	remove := p - r
	add := 0.0
	if odds := math.Expm1(-epsilon) + q; odds > 0 {
		x := 0.5 + z*z*math.Log(odds/q)
		add = survival(-x/z) - math.Exp(epsilon)*((1-q)*survival(-x/z)+q*survival(-(x-1)/z))
	}
	return max(remove, add)
}

func TestPLDOfOneRound(t *testing.T) {
	for _, q := range stage.Pick([]float64{1e-5, 0.5}, []float64{1e-5, 0.1, 0.99}, []float64{1e-5, 1e-2, 0.1, 0.5, 0.99}) {
		for _, z := range []float64{0.3, 1, 5, 50} {
			m := Mechanism{q, z}
			for _, epsilon := range []float64{0, 1e-3, 0.1, 1, 5} {
				exact, pld := onceDelta(m, epsilon), deltaOf(t, PLD, epsilon, Step{m, 1})
				assert.GreaterOrEqual(t, pld, exact-1e-16, "%+v epsilon=%v", m, epsilon)
				assert.LessOrEqual(t, pld, exact*1.005+1e-15, "%+v epsilon=%v", m, epsilon)
			}
		}
	}
}

// bruteDelta is delta at epsilon by the plain method: probabilities of cells of losses, each
// rounded down, multiplied out without Fourier transforms or tilts. A lower bound, as is every
// loss; and an upper one if losses are rounded up instead.
func bruteDelta(m Mechanism, rounds int, epsilon float64, cells int, up bool) float64 {
	q, z := m.SamplingRate, m.NoiseMultiplier
	mass := func(from, to float64) (p, r float64) {
		between := func(a, b float64) float64 {
			if a > 0 {
				return survival(a) - survival(b)
			}
			return survival(-b) - survival(-a)
		}
		r = between(from/z, to/z)
		return (1-q)*r + q*between((from-1)/z, (to-1)/z), r
	}
	worst := 0.0
	for _, remove := range []bool{true, false} {
		low, high := -9*z, 1+9*z // beyond: 1e-19
		loss := func(x float64) float64 { return math.Log(1 - q + q*math.Exp((x-0.5)/(z*z))) }
		if !remove {
			loss = func(x float64) float64 { return -math.Log(1 - q + q*math.Exp((x-0.5)/(z*z))) }
		}
		h := math.Abs(loss(high)-loss(low)) / float64(cells)
		bottom := int(math.Floor(min(loss(low), loss(high)) / h))
		single := make([]float64, cells+3)
		const slices = 40 // of each cell's outcomes, as finely as it takes
		n := cells * slices
		for i := range n {
			from, to := low+(high-low)*float64(i)/float64(n), low+(high-low)*float64(i+1)/float64(n)
			p, r := mass(from, to)
			if !remove {
				p = r
			}
			at := math.Floor(min(loss(from), loss(to)) / h)
			if up {
				at = math.Ceil(max(loss(from), loss(to)) / h)
			}
			single[int(at)-bottom] += p
		}
		total := []float64{1}
		for range rounds {
			next := make([]float64, len(total)+len(single)-1)
			for i, a := range total {
				for j, b := range single {
					next[i+j] += a * b
				}
			}
			total = next
		}
		delta := 0.0
		for i, p := range total {
			if l := float64(i+bottom*rounds) * h; l > epsilon {
				delta -= p * math.Expm1(epsilon-l)
			}
		}
		worst = max(worst, delta)
	}
	return worst
}

func TestPLDAgainstBruteForce(t *testing.T) {
	for _, tt := range []struct {
		m       Mechanism
		rounds  int
		epsilon float64
	}{
		{Mechanism{0.1, 1}, 4, 1}, {Mechanism{0.5, 2}, 4, 2}, {Mechanism{0.01, 0.7}, 3, 0.5}, {Mechanism{0.9, 3}, 3, 0},
		{Mechanism{0.3, 5}, 5, 0.2},
	} {
		low, high := bruteDelta(tt.m, tt.rounds, tt.epsilon, 1200, false), bruteDelta(tt.m, tt.rounds, tt.epsilon, 1200, true)
		delta := deltaOf(t, PLD, tt.epsilon, Step{tt.m, tt.rounds})
		assert.GreaterOrEqual(t, delta, low, "%+v", tt)
		assert.LessOrEqual(t, delta, high, "%+v", tt)
		assert.LessOrEqual(t, high/low, 1.15, "%+v: the bounds must mean something", tt)
	}
}

// A simulation of 100 rounds from a fixed seed: the mean of 1 - exp(epsilon - loss), where that is
// positive, has expectation delta. Hoeffding's inequality bounds how far below it the mean may be,
// but for a chance of 1e-9; Bernstein's would be closer.
func TestPLDAgainstSimulation(t *testing.T) {
	m, rounds, epsilon := Mechanism{0.1, 1}, 100, 5.0
	random := rand.New(rand.NewPCG(1, 2))
	const n = 20000
	sum := 0.0
	for range n {
		total := 0.0
		for range rounds {
			x := random.NormFloat64() * m.NoiseMultiplier
			if random.Float64() < m.SamplingRate {
				x++
			}
			total += math.Log(1 - m.SamplingRate + m.SamplingRate*math.Exp((x-0.5)/(m.NoiseMultiplier*m.NoiseMultiplier)))
		}
		if total > epsilon {
			sum -= math.Expm1(epsilon - total)
		}
	}
	mean, width := sum/n, math.Sqrt(math.Log(1e9)/(2*n))
	pld, rdp := deltaOf(t, PLD, epsilon, Step{m, rounds}), deltaOf(t, RDP, epsilon, Step{m, rounds})
	assert.GreaterOrEqual(t, pld, mean-width)
	assert.InDelta(t, mean, pld, width)
	assert.Less(t, pld, rdp)
}

// Strictly tighter than RDP wherever it could have fallen back on it, and consistent with itself.
func TestPLDIsBelowRDP(t *testing.T) {
	for _, q := range stage.Pick([]float64{0.01}, []float64{0.01, 0.9}, []float64{1e-4, 0.01, 0.9}) {
		for _, z := range stage.Pick([]float64{1}, []float64{0.5, 5}, []float64{0.5, 1, 5, 100}) {
			for _, rounds := range stage.Pick([]int{100}, []int{1, 100}, []int{1, 100, 1000}) {
				s := steps(q, z, rounds)
				pld, rdp := epsilonOf(t, PLD, 1e-6, s), epsilonOf(t, RDP, 1e-6, s)
				assert.Less(t, pld, rdp*0.9999, "%+v", s)
				if pld > 1e-6 && pld < 1e3 {
					assert.InEpsilon(t, 1e-6, deltaOf(t, PLD, pld, s), 0.01, "%+v", s)
				}
			}
		}
	}
}

// Hundreds of thousands of rounds, in bounded time and memory.
func TestPLDOfManyRounds(t *testing.T) {
	stage.OnlyLong(t)
	for _, tt := range []struct {
		Step
		delta float64
	}{
		{steps(1, 500, 1e6), 1e-6}, {steps(1, 0.3, 1e6), 1e-12},
	} {
		exact, pld := epsilonOf(t, Analytic, tt.delta, tt.Step), epsilonOf(t, PLD, tt.delta, tt.Step)
		assert.GreaterOrEqual(t, pld, exact, "%+v", tt)
		assert.LessOrEqual(t, pld, exact*1.0002, "%+v", tt)
	}
	for _, s := range []Step{steps(1e-5, 0.3, 1e5)} {
		assert.Less(t, epsilonOf(t, PLD, 1e-6, s), epsilonOf(t, RDP, 1e-6, s), "%+v", s)
	}
}

func TestPLDOfUnequalRounds(t *testing.T) {
	// q = 1: exact.
	mixed := []Step{steps(1, 10, 30), steps(1, 20, 50), steps(1, 5, 2)}
	exact, pld := epsilonOf(t, Analytic, 1e-6, mixed...), epsilonOf(t, PLD, 1e-6, mixed...)
	assert.GreaterOrEqual(t, pld, exact)
	assert.LessOrEqual(t, pld, exact*1.0002)

	// q < 1: between either kind alone, and the order does not matter.
	a, b := steps(0.1, 2, 50), steps(0.02, 0.8, 50)
	both := epsilonOf(t, PLD, 1e-6, a, b)
	assert.Greater(t, both, max(epsilonOf(t, PLD, 1e-6, a), epsilonOf(t, PLD, 1e-6, b)))
	assert.Less(t, both, epsilonOf(t, RDP, 1e-6, a, b))
	assert.InEpsilon(t, both, epsilonOf(t, PLD, 1e-6, b, a), 1e-9)
	// Steps of the same mechanism are one step.
	assert.Equal(t, epsilonOf(t, PLD, 1e-6, steps(0.1, 2, 100)), epsilonOf(t, PLD, 1e-6, a, a))
}

func TestLossAndOutcome(t *testing.T) {
	for _, q := range []float64{1e-12, 1e-5, 0.1, 0.5, 0.999999, 1} {
		for _, z := range []float64{0.01, 0.3, 1, 500} {
			m := Mechanism{q, z}
			last := math.Inf(-1)
			for x := -10 * z; x <= 1+10*z; x += z / 4 {
				loss := m.loss(x)
				require.False(t, math.IsNaN(loss) || math.IsInf(loss, 0))
				assert.GreaterOrEqual(t, loss, last)
				last = loss
				// Where the loss is flat its inverse is not determined, but the loss of the inverse
				// is.
				if back := m.outcome(loss); !math.IsInf(back, 0) {
					assert.InDelta(t, loss, m.loss(back), 1e-14*(1+math.Abs(loss))+1e-9*math.Abs(loss), "%+v x=%v", m, x)
				}
			}
		}
	}
	assert.Equal(t, math.Inf(-1), Mechanism{0.5, 1}.outcome(-1), "log(1-q) is -0.69")
}

// A discretised round keeps all mass, dominates the true delta at every epsilon, and meets it at
// the losses of its grid.
func TestDiscretize(t *testing.T) {
	for _, m := range []Mechanism{{0.1, 1}, {0.01, 0.3}, {0.9, 5}, {1e-4, 0.8}} {
		const step, tail = 0.01, 1e-15
		remove, add := discretize(m, step, tail)
		for direction, d := range map[string]losses{"remove": remove, "add": add} {
			total := d.infinite
			for _, mass := range d.mass {
				require.GreaterOrEqual(t, mass, 0.0)
				total += mass
			}
			assert.InDelta(t, 1, total, 1e-9, "%+v %s", m, direction)
			assert.GreaterOrEqual(t, total, 1-1e-15, "%+v %s", m, direction)
		}
		for k := -50; k <= 300; k += 7 {
			epsilon := (float64(k) + 0.3*float64(k%3)) * step
			if epsilon < 0 {
				continue
			}
			delta := 0.0
			for _, d := range []losses{remove, add} {
				sum := d.infinite
				for i, mass := range d.mass {
					if l := float64(d.low+i) * step; l > epsilon {
						sum -= mass * math.Expm1(epsilon-l)
					}
				}
				delta = max(delta, sum)
			}
			exact := onceDelta(m, epsilon)
			assert.GreaterOrEqual(t, delta, exact-1e-16, "%+v epsilon=%v", m, epsilon)
			if k%3 == 0 {
				assert.InDelta(t, exact, delta, 1e-9*exact+2*tail, "%+v epsilon=%v", m, epsilon)
			}
		}
	}
}

// The bound on rounding must hold and still be small. What is composed here is a fair coin's loss,
// whose composition is binomial.
func TestComposeAgainstBinomial(t *testing.T) {
	for _, rounds := range []int{1, 10, 1000, 100000} {
		for _, lambda := range []float64{1e-8, 0.1, 1} {
			coin := losses{low: 0, mass: []float64{0.5, 0.5}}.sealed()
			c, fill := newComposition([]part{{coin, float64(rounds)}}, 0.01).compose(lambda)
			require.LessOrEqual(t, fill, 1.0)
			assert.Less(t, c.err, 1e-4*math.Max(1e-5, float64(rounds)/1e5), "T=%d lambda=%v", rounds, lambda)
			p := 1 / (1 + math.Exp(-lambda*0.01))
			off := 0.0
			for i, got := range c.tilted {
				off += math.Abs(got - binomial(rounds, c.low+i, p))
			}
			assert.LessOrEqual(t, off, c.err, "T=%d lambda=%v", rounds, lambda)
		}
	}
}

func binomial(n, k int, p float64) float64 {
	if k < 0 || k > n {
		return 0
	}
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	return math.Exp(lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// A window longer than the longest transform is refused, and a coarser grid found.
func TestComposeRefusesLongWindows(t *testing.T) {
	stage.NotShort(t, "composes the longest windows")
	coin := losses{low: 0, mass: []float64{0.5, 0.5}}.sealed()
	_, fill := newComposition([]part{{coin, 1e12}}, 1e-9).compose(1)
	assert.Greater(t, fill, 1.0)

	g := grid{steps: []Step{steps(1, 100, 1e7)}, step: 1e-5, tail: 1e-20}
	got, step := g.worst(func(c composition) answer { return c.epsilon(1e-6) })
	assert.Greater(t, step, 1e-5)
	assert.InEpsilon(t, epsilonOf(t, Analytic, 1e-6, g.steps[0]), got, 0.01)

	got, _ = g.worst(func(composition) answer { return answer{fill: 2} })
	assert.Equal(t, math.Inf(1), got, "no grid will do")
}

func TestPLDParameters(t *testing.T) {
	_, err := Epsilon(PLD, 1e-6, steps(0.1, 0.009, 1))
	assert.ErrorIs(t, err, ErrParameter)
	assert.ErrorContains(t, err, "0.009")
	_, err = Delta(PLD, 1, steps(0.1, 0.009, 1))
	assert.ErrorIs(t, err, ErrParameter)

	var many []Step
	for i := range pldMaxSteps + 1 {
		many = append(many, steps(0.1, 2+float64(i), 1))
	}
	_, err = Epsilon(PLD, 1e-6, many...)
	assert.ErrorContains(t, err, fmt.Sprint(pldMaxSteps))
	rdp := epsilonOf(t, RDP, 1e-6, many[1:]...)
	assert.Less(t, epsilonOf(t, PLD, 1e-6, many[1:]...), rdp)
}
