package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// regret is Theorem 2 with the theorem's rate, 1/sqrt(T), and the theorem's comparator:
//
//	R(T) = sum over t < T of F(A_t, X_t) - F(A~_t, X_t) <= rho sqrt(T) + o(sqrt(T))
//	rho  = 6 L_1 f^(3/2) sqrt(d(sigma^2 + sigma_f^2)) / (1 - L_1), if L_1 < 1
//
// F is the mean loss of the batches that the honest participants sample. The paper has the loss of
// the mean model, F(E A_t, X_t); here it is the mean of the loss over the seeds.
var regret = Experiment{
	Name:  "regret",
	Title: "Regret (Theorem 2): Krum with rate 1/sqrt(T), no momentum, against a random honest gradient, N=20, f=6",
	Paper: "R(A, A~) <= rho sqrt(T) + o(sqrt(T)): the loss difference with and without Byzantine nodes grows no faster " +
		"than sqrt(T).",
	X:    "T, the rounds of a training",
	axis: axis{"T", func(x float64) string { return fmt.Sprintf("%g", x) }},
	cells: func(o Options) ([]Cell, error) {
		horizons := []uint64{25, 50, 100, 200, 400}
		if o.Quick {
			horizons = []uint64{5, 10, 20}
		}
		var l list
		for _, name := range []string{comparator, clean, "sign-flip", "minus-mean"} {
			for _, T := range horizons {
				s, err := o.paper(train.SPDL, gridNodes)
				s.Params.Training.Rounds, s.Params.Training.LearningRate, s.Every = T, 1/math.Sqrt(float64(T)), 0
				s.Params.Training.Momentum, s.Params.Training.WeightDecay = 0, 0
				if name != clean {
					s.Byzantine, s.Attack = params.MaxByzantine(gridNodes), name
				}
				if s.Lone = name == comparator; s.Lone {
					s.Attack = "zero" // the comparator's training never runs the attack
				}
				l.add(Cell{Panel: "krum", Series: name, X: float64(T), Learn: &s, Rerun: name == "minus-mean" &&
					T == horizons[0]}, err)
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) {
		t := Table{Head: []string{"attack", attackersColumn, "T", "regret", "regret / sqrt(T)", "exponent of T",
			"L1, at least", "d(sigma^2 + sigma_f^2)", "rho", "rho if L1 were 1/2"}}
		sum := figure.Panel{Title: "regret", X: "T, rounds", Y: "cumulative loss difference, nats"}
		share := figure.Panel{Title: "regret / sqrt(T): level where the theorem's bound is tight", X: "T, rounds", Y: "nats"}
		against := r.of("krum", comparator)
		for _, series := range r.series() {
			if series == comparator {
				continue
			}
			some := r.of("krum", series)
			l := some.regret(series, against)
			sum.Lines, share.Lines = append(sum.Lines, l), append(share.Lines, overRoot(l))
			for i, T := range l.X {
				l1, spread := some.atX(T).worst("steepest"), some.atX(T).worst("spread")
				f := float64(params.MaxByzantine(gridNodes))
				t.Rows = append(t.Rows, []string{
					series, some.attackers(), fmt.Sprintf("%g", T), ranged(l, i, 3), ranged(overRoot(l), i, 3),
					number(exponent(l, i)),
					number(l1), number(spread), number(rho(l1, f, spread)), number(rho(0.5, f, spread)),
				})
			}
		}
		return figure.Figure{Title: "Regret with rate 1/sqrt(T)", Panels: []figure.Panel{sum, share}}, t
	},
}

// comparator is Theorem 2's training without Byzantine participants.
const comparator = "random honest gradient"

// rho returns the rho of Theorem 2. It is NaN if L_1 is 1 or more, where the theorem does not hold.
// The parameter spread is d(sigma^2 + sigma_f^2).
func rho(l1, f, spread float64) float64 {
	if l1 >= 1 {
		return math.NaN()
	}
	return 6 * l1 * math.Pow(f, 1.5) * math.Sqrt(spread) / (1 - l1)
}

// regret returns the regret over T against the comparator of the same T and seed.
func (r Results) regret(name string, against Results) figure.Line {
	l := r.reduce(name, func(x Result) (xs, ys []float64) {
		for _, other := range against.atX(x.Cell.X) {
			if other.Seed == x.Seed {
				xs, ys = append(xs, x.Cell.X), append(ys, x.last("loss_sum")-other.last("loss_sum"))
			}
		}
		return xs, ys
	})
	l.Dots = true
	return l
}

// atX returns the results of the cells at an X.
func (r Results) atX(at float64) Results {
	return slices.DeleteFunc(slices.Clone(r), func(x Result) bool { return x.Cell.X != at })
}

// exponent returns the slope of log(regret) against log(T) since the previous T: the theorem claims 0.5, and a linear
// regret has 1. It is NaN at the first T, and if a regret is negligible, below a tenth of a nat.
func exponent(l figure.Line, i int) float64 {
	if i == 0 || l.Y[i-1] < 0.1 || l.Y[i] < 0.1 {
		return math.NaN()
	}
	return math.Log(l.Y[i]/l.Y[i-1]) / math.Log(l.X[i]/l.X[i-1])
}

// overRoot divides a line over T, with its band, by sqrt(T).
func overRoot(l figure.Line) figure.Line {
	return mapped(l, func(x, y float64) float64 { return y / math.Sqrt(x) })
}
