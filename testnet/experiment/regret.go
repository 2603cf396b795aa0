package experiment

import (
	"math"
	"slices"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// regret is Theorem 2: the sum of loss differences with and without Byzantine
// participants, beside the square root that bounds it.
var regret = Experiment{
	Name:  "regret",
	Title: "Regret (Theorem 2): cumulative test loss with Byzantine participants minus without, N=20, f=6",
	Paper: "R(A, A~) <= rho sqrt(T) + o(sqrt(T)): the loss difference with and without Byzantine nodes grows no faster than sqrt(T).",
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, rule := range []string{"krum", "multi-krum", "nnm+trimmed-mean"} {
			for _, name := range []string{"none", "constant", "sign-flip", "minus-mean"} {
				s, err := o.paper(train.SPDL, gridNodes)
				if err != nil {
					return nil, err
				}
				s.Params.Rule.Name, s.Every = rule, 1
				if name != "none" {
					s.Byzantine, s.Attack = train.MaxByzantine(gridNodes), name
				}
				cells = append(cells, Cell{Panel: rule, Series: name, Learn: &s, Rerun: rule == "multi-krum" && name == "minus-mean"})
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		f := figure.Figure{Title: "Regret"}
		t := Table{Head: []string{"rule", "attack", "regret", "regret / sqrt(T)", "exponent of T in the second half"}}
		for _, panel := range r.panels() {
			clean := r.of(panel, "none")
			p := figure.Panel{Title: panel, X: "T, rounds", Y: "cumulative loss difference, nats"}
			var highest figure.Line
			for _, series := range r.series() {
				if series == "none" {
					continue
				}
				l := r.of(panel, series).regret(series, clean)
				if len(l.X) == 0 {
					continue
				}
				p.Lines = append(p.Lines, l)
				last, T := l.Y[len(l.Y)-1], l.X[len(l.X)-1]
				if len(highest.Y) == 0 || last > highest.Y[len(highest.Y)-1] {
					highest = l
				}
				t.Rows = append(t.Rows, []string{panel, series, number(last), number(last / math.Sqrt(T)), number(exponent(l))})
			}
			if len(highest.X) == 0 {
				continue
			}
			root := figure.Line{Name: "c sqrt(T)", X: highest.X, Dashed: true}
			n := len(highest.X) - 1
			for _, x := range highest.X {
				root.Y = append(root.Y, highest.Y[n]*math.Sqrt(x/highest.X[n]))
			}
			p.Lines = append(p.Lines, root)
			f.Panels = append(f.Panels, p)
		}
		return f, t
	},
}

// regret returns the regret of results against those without attackers: of the means
// over the seeds, with the band from the least to the greatest seed's own.
func (r Results) regret(name string, clean Results) figure.Line {
	l := accumulate(r.curve(name, "test_loss"), clean.curve("", "test_loss"))
	if len(r) < 2 {
		return l
	}
	bySeed := make([][]float64, len(l.X))
	for _, x := range r {
		own := accumulate(Results{x}.curve("", "test_loss"), clean.ofSeed(x.Seed).curve("", "test_loss"))
		for i := range min(len(own.X), len(l.X)) {
			if own.X[i] == l.X[i] {
				bySeed[i] = append(bySeed[i], own.Y[i])
			}
		}
	}
	for i, ys := range bySeed {
		ys = append(ys, l.Y[i]) // where each seed's own has ended
		l.Low, l.High = append(l.Low, slices.Min(ys)), append(l.High, slices.Max(ys))
	}
	return l
}

// ofSeed returns the results of a seed.
func (r Results) ofSeed(seed uint64) Results {
	return slices.DeleteFunc(slices.Clone(r), func(x Result) bool { return x.Seed != seed })
}

// accumulate sums the differences of two lines until either ends: a model that overflows has no
// loss.
func accumulate(l, clean figure.Line) figure.Line {
	out := figure.Line{Name: l.Name}
	sum := 0.0
	for i := range min(len(l.X), len(clean.X)) {
		if l.X[i] != clean.X[i] {
			break
		}
		sum += l.Y[i] - clean.Y[i]
		out.X, out.Y = append(out.X, l.X[i]), append(out.Y, sum)
	}
	return out
}

// exponent returns the slope of log(regret) against log(T) from the middle to the last
// round: 0.5 is the theorem's, 1 is linear. It is NaN where regret is next to
// nothing, below a tenth of a nat in all.
func exponent(l figure.Line) float64 {
	n := len(l.Y) - 1
	a, b := l.Y[n/2], l.Y[n]
	if a < 0.1 || b < 0.1 {
		return math.NaN()
	}
	return math.Log(b/a) / math.Log(l.X[n]/l.X[n/2])
}
