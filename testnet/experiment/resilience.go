package experiment

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// resilience is Theorem 1. It shows in which rounds of a training the theorem's premise holds,
// which k the theorem then guarantees, and which k the rule achieves.
var resilience = Experiment{
	Name:  "resilience",
	Title: "Resilience (Theorem 1): premise, bound on epsilon and k by round, granted and measured, N=20, f=6",
	Paper: "If |g|^2 f^(-3/4) > 18 d sigma_f^2 and epsilon is above a bound, <E h, g> >= k |g|^2 with k = 1 - 3 " +
		"sqrt(2) f^(3/2) sqrt(d) / |g| (sigma_f^2 + sigma^2).",
	cells: func(o Options) ([]Cell, error) {
		var l list
		for _, name := range []string{"paper", "default"} {
			for _, attack := range []string{clean, "sign-flip", "minus-mean"} {
				s, err := o.preset(name, gridNodes)
				s.Every, s.Shadow = 1, true
				if attack != clean {
					s.Byzantine, s.Attack = params.MaxByzantine(gridNodes), attack
					if s.Params.Privacy.NoiseFloor {
						s.Attack = "aware+" + attack
					}
				}
				l.add(Cell{Panel: name + ", " + s.Params.Rule.Name, Series: attack, Learn: &s}, err)
				if name == "default" { // the theorem is about Krum
					under := s
					under.Params.Rule.Name = "krum"
					l.add(Cell{Panel: krumOnDefault, Series: attack, Learn: &under}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) {
		premise := figure.Panel{Title: "premise: |g|^2 f^(-3/4) / (18 d sigma_f^2), above 1", X: "round", Y: "ratio",
			Log: true}
		bound := figure.Panel{Title: "least epsilon, where the premise holds", X: "round", Y: "epsilon", Log: true}
		granted := figure.Panel{Title: "1 - k, no attack: below 1 something is granted", X: "round", Y: "1 - k", Log: true}
		var measured []figure.Panel
		t := Table{Head: []string{
			"setting", "attack", attackersColumn, "|g|", "sqrt(d) sigma_f", "sqrt(d) sigma", "premise holds",
			"ratio, greatest", "epsilon, least", "k as stated", "k as proved", "k by Krum's authors", "k measured, mean",
			"rounds with h against g",
		}}
		for _, panel := range r.panels() {
			own := figure.Panel{Title: panel + ": k measured, means of ten rounds", X: "round", Y: "<E h, g> / |g|^2"}
			for _, series := range r.inPanel(panel).series() {
				some := r.of(panel, series)
				own.Lines = append(own.Lines, some.measured(series))
				t.Rows = append(t.Rows, append([]string{panel, series, some.attackers()}, some.theoremRow()...))
				if series != clean || panel == krumOnDefault {
					continue
				}
				premise.Lines = append(premise.Lines, some.theorem(panel, theorem1.premise))
				bound.Lines = append(bound.Lines, some.theorem(panel, theorem1.epsilon))
				for _, version := range []struct {
					name string
					k    func(theorem1) float64
				}{{"as stated", theorem1.stated}, {"as proved", theorem1.proved}, {"by Krum's authors", theorem1.blanchard}} {
					granted.Lines = append(granted.Lines, some.theorem(panel+", "+version.name,
						func(t theorem1) float64 { return 1 - version.k(t) }))
				}
			}
			measured = append(measured, own)
		}
		premise.Lines, granted.Lines = append(premise.Lines, limit(premise.Lines)),
			append(granted.Lines, limit(granted.Lines))
		f := figure.Figure{Title: "Resilience", Panels: append([]figure.Panel{premise, granted}, measured...)}
		if slices.ContainsFunc(bound.Lines, func(l figure.Line) bool { return len(l.X) > 0 }) {
			f.Panels = append(f.Panels, bound)
		}
		return f, t
	},
}

// krumOnDefault is the panel of the default preset with Krum in place of its own rule. At the same
// model, its gradients are those of the default preset.
const krumOnDefault = "default, krum"

// limit returns the line at 1, as long as the longest other line.
func limit(others []figure.Line) figure.Line {
	l := figure.Line{Name: "1, the limit", Dashed: true}
	for _, o := range others {
		if len(o.X) > len(l.X) {
			l.X = o.X
		}
	}
	for range l.X {
		l.Y = append(l.Y, 1)
	}
	return l
}

// theorem1 holds the quantities of Theorem 1, in one round of one training; train.ShadowColumns describes the moments.
type theorem1 struct {
	gradient float64 // |g|^2
	sampling float64 // d sigma_f^2
	noise    float64 // d sigma^2
	aligned  float64 // <E h, g>
	n, f, d  float64
	// sensitivity is C: clip norm over batch. It is 0 without clipping, where C is undefined.
	sensitivity float64
}

// premise returns |g|^2 f^(-3/4) / (18 d sigma_f^2): the theorem requires more than 1.
func (t theorem1) premise() float64 {
	return t.gradient * math.Pow(t.f, -0.75) / (18 * t.sampling)
}

// epsilon returns the theorem's bound as printed, with C under the root and not squared:
//
//	epsilon > sqrt(2 C ln(1.25/delta)) / C_2, C_2^2 = |g|^2 f^(-3/4) / (18 d) - sigma_f^2
//
// at delta 1e-6. It is NaN if the premise fails or C is undefined.
func (t theorem1) epsilon() float64 {
	square := t.gradient*math.Pow(t.f, -0.75)/(18*t.d) - t.sampling/t.d
	if square <= 0 || t.sensitivity == 0 {
		return math.NaN()
	}
	return math.Sqrt(2*t.sensitivity*math.Log(1.25/preset.Delta)) / math.Sqrt(square)
}

// stated returns k = 1 - 3 sqrt(2) f^(3/2) sqrt(d) / |g| (sigma_f^2 + sigma^2), as printed in the theorem, where the
// root of the last factor is missing. Its noise is that of the training, not that of Lemma 1.
func (t theorem1) stated() float64 {
	return 1 - 3*math.Sqrt2*math.Pow(t.f, 1.5)*math.Sqrt(t.d/t.gradient)*(t.sampling+t.noise)/t.d
}

// proved returns k = 1 - 3 sqrt(2) f^(3/2) sqrt(d) / |g| sqrt(sigma_f^2 + sigma^2), as printed in
// the last line of the proof.
func (t theorem1) proved() float64 {
	return 1 - 3*math.Sqrt2*math.Pow(t.f, 1.5)*math.Sqrt((t.sampling+t.noise)/t.gradient)
}

// blanchard returns k = 1 - sin(alpha) of Krum's authors (Blanchard et al., 2017). The paper's
// proof follows theirs, except for a coarser last step:
//
//	sin(alpha)  = eta(n, f) sqrt(d) sigma / |g|
//	eta(n, f)^2 = 2 (n - f + (f (n-f-2) + f^2 (n-f-1)) / (n-2f-2))
func (t theorem1) blanchard() float64 {
	eta2 := 2 * (t.n - t.f + (t.f*(t.n-t.f-2)+t.f*t.f*(t.n-t.f-1))/(t.n-2*t.f-2))
	return 1 - math.Sqrt(eta2*(t.sampling+t.noise)/t.gradient)
}

// measured returns <E h, g> / |g|^2, the largest k that satisfies the definition of (k, f)-resilience.
func (t theorem1) measured() float64 { return t.aligned / t.gradient }

// theorems returns Theorem 1's quantities of each row of a result.
func (x Result) theorems() (out []theorem1) {
	p := x.Cell.Learn.Params
	for _, row := range x.Rows {
		at := func(column string) float64 { return row[x.column(column)] }
		out = append(out, theorem1{
			gradient: at("gradient"), sampling: at("sampling"), noise: at("noise"), aligned: at("aligned"),
			n: float64(x.Cell.Learn.Nodes), f: float64(p.Rule.Byzantine), d: float64(p.Model.Dim()),
			sensitivity: p.Privacy.Clip / float64(p.Privacy.Batch),
		})
	}
	return out
}

// theorem returns a quantity of Theorem 1 over the rounds.
func (r Results) theorem(name string, of func(theorem1) float64) figure.Line {
	return r.reduce(name, func(x Result) (xs, ys []float64) {
		for i, t := range x.theorems() {
			xs, ys = append(xs, x.Rows[i][0]), append(ys, of(t))
		}
		return xs, ys
	})
}

// measured returns the measured k as means over ten rounds and all seeds. The definition has E h, a
// mean, and a single round has only one of Krum's choices.
func (r Results) measured(name string) figure.Line {
	l := r.reduce(name, func(x Result) (xs, ys []float64) {
		for i, t := range x.theorems() {
			xs, ys = append(xs, 10*math.Ceil(x.Rows[i][0]/10)), append(ys, t.measured())
		}
		return xs, ys
	})
	l.Low, l.High = nil, nil // the band would span rounds, not seeds
	return l
}

// theoremRow returns a setting's line of the table: medians over rounds and seeds, unless the header says otherwise.
func (r Results) theoremRow() []string {
	var all []theorem1
	for _, x := range r {
		all = append(all, x.theorems()...)
	}
	values := func(of func(theorem1) float64) (out []float64) {
		for _, t := range all {
			if v := of(t); !math.IsNaN(v) {
				out = append(out, v)
			}
		}
		return out
	}
	mid := func(of func(theorem1) float64) string { return number(medianOf(values(of))) }
	holds, against := 0, 0
	for _, t := range all {
		if t.premise() > 1 {
			holds++
		}
		if t.aligned < 0 {
			against++
		}
	}
	return []string{
		mid(func(t theorem1) float64 { return math.Sqrt(t.gradient) }),
		mid(func(t theorem1) float64 { return math.Sqrt(t.sampling) }),
		mid(func(t theorem1) float64 { return math.Sqrt(t.noise) }),
		fmt.Sprintf("%d of %d", holds, len(all)),
		number(extreme(values(theorem1.premise), slices.Max)), number(extreme(values(theorem1.epsilon), slices.Min)),
		mid(theorem1.stated), mid(theorem1.proved), mid(theorem1.blanchard),
		number(stat.Mean(values(theorem1.measured), nil)), fmt.Sprintf("%d of %d", against, len(all)),
	}
}

// preset returns a training of a preset. Only a quick run changes it, to fewer rounds.
func (o Options) preset(name string, n int) (train.Spec, error) {
	s, err := train.Preset(name, n)
	if o.Quick {
		s.Params.Training.Rounds = quickFew
	}
	return s, err
}
