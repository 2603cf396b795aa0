package testnet_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
)

// view returns a round of n participants, f of them attackers, in d coordinates: the
// honest share a slope of 20 steps, under noise of 10.
func view(n, f, d int, seed uint64) attack.View {
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func() gradients.Vector {
		x := make([]float64, d)
		for j := range x {
			x[j] = 20 + 10*r.NormFloat64()
		}
		v := gradients.NewVector(gradients.Int8, d)
		gradients.Grid{Width: gradients.Int8, Step: 1}.Quantize(v, x)
		return v
	}
	v := attack.View{N: n, F: f, Grid: gradients.Grid{Width: gradients.Int8, Step: 0.01}, Rule: "krum",
		Input: rules.Input{N: n, F: f}, Rand: rand.New(rand.NewPCG(seed, 2))}
	for range n - f {
		v.Honest = append(v.Honest, draw())
	}
	v.Own = func() (own []gradients.Vector) {
		for range f {
			own = append(own, draw())
		}
		return own
	}
	v.Imagined = func() (imagined []gradients.Vector) {
		for range n - f {
			imagined = append(imagined, draw())
		}
		return imagined
	}
	v.Model = make([]float64, d)
	v.Expected = func() []float64 { return append(make([]float64, d-1), 3) }
	v.Slope = func(_ attack.Goal, at []float64) []float64 { // at a right angle to the honest slope
		u := make([]float64, d)
		for j := range u {
			u[j] = float64(1-2*(j%2)) + at[j]
		}
		return u
	}
	return v
}

// mean of the coordinates of a vector.
func level(v gradients.Vector) float64 {
	var sum float64
	for j := range v.Len() {
		sum += float64(v.At(j))
	}
	return sum / float64(v.Len())
}

func craft(t *testing.T, name string, v attack.View) []gradients.Vector {
	t.Helper()
	a, err := attack.Lookup(name)
	require.NoError(t, err)
	return a.Craft(v)
}

// TestEveryAttack: F vectors of the grid's shape or silence, the same from the
// same view, and the view left as it is.
func TestEveryAttack(t *testing.T) {
	require.GreaterOrEqual(t, len(attack.Names()), 15)
	for _, name := range attack.Names() {
		for _, name := range []string{name, "aware+" + name} {
			t.Run(name, func(t *testing.T) {
				a, err := attack.Lookup(name)
				require.NoError(t, err)
				require.Equal(t, name, a.Name())
				require.NotEmpty(t, a.Source())
				v := view(10, 3, 64, 7)
				before := view(10, 3, 64, 7).Honest
				first, again := a.Craft(v), a.Craft(view(10, 3, 64, 7))
				require.Equal(t, before, v.Honest)
				require.Equal(t, first, again)
				require.Len(t, first, 3)
				for _, x := range first {
					if x.Len() > 0 {
						require.Equal(t, gradients.Int8, x.Width())
						require.Equal(t, 64, x.Len())
					}
				}
			})
		}
	}
	_, err := attack.Lookup("explode")
	require.ErrorContains(t, err, "spdl-lab experiment --help lists all")
}

// shapes says what each attack is known for. Those of the family hidden have hides.
var shapes = map[string]func(t *testing.T, name string){
	"constant": around(127), "saturation": around(-127), "zero": around(0), "sign-flip": around(-20),
	"minus-half-mean": around(-10), "minus-mean": around(-20), "minus-3-mean": around(-60), "ipm": around(-2),
	"minus-mean+noise": opposes, "minus-mean+shared-noise": opposes, "label-flip": around(20), "lazy-copy": copies,
	"mimic": mimics, "silent": isSilent, "gaussian": isNoise, "equivocation": contradicts, "alie": hidesInDeviation,
	"optimised-ipm": searches("minus-mean", "zero"), "optimised-alie": searches("alie"), "min-max": staysWithin,
	"min-sum": staysWithin,
}

// TestShapes: each attack is what it is known for.
func TestShapes(t *testing.T) {
	for _, name := range attack.Names() {
		shape := shapes[name]
		if strings.HasPrefix(name, "hidden-") {
			shape = hides
		}
		require.NotNil(t, shape, "say in shapes what %s is known for", name)
		t.Run(name, func(t *testing.T) { shape(t, name) })
	}
	for name := range shapes {
		require.Contains(t, attack.Names(), name)
	}
}

// around is the shape of vectors with a mean coordinate, of honest gradients of about 20.
func around(want float64) func(*testing.T, string) {
	return func(t *testing.T, name string) {
		for _, x := range craft(t, name, view(10, 3, 2000, 3)) {
			require.InDelta(t, want, level(x), 1.5)
		}
	}
}

// opposes: the negated mean with noise, which is the same for all attackers if the name says shared.
func opposes(t *testing.T, name string) {
	around(-20)(t, name)
	crafted := craft(t, name, view(10, 3, 64, 3))
	require.Equal(t, strings.Contains(name, "shared"), slices.Equal(crafted[0].Encode(), crafted[2].Encode()))
}

// copies: each attacker sends a gradient of an honest participant.
func copies(t *testing.T, name string) {
	v := view(10, 3, 64, 3)
	for _, x := range craft(t, name, v) {
		require.Contains(t, v.Honest, x)
	}
}

func isSilent(t *testing.T, name string) {
	for _, x := range craft(t, name, view(10, 3, 64, 3)) {
		require.Zero(t, x.Len())
	}
}

// isNoise: without a direction, and longer than every honest gradient.
func isNoise(t *testing.T, name string) {
	v := view(10, 3, 2000, 3)
	for _, x := range craft(t, name, v) {
		require.Less(t, math.Abs(level(x)), 10.)
		for _, h := range v.Honest {
			require.Greater(t, x.SquaredNorm(), 9*h.SquaredNorm())
		}
	}
}

// contradicts: gradients of the attackers' own, as they are or negated.
func contradicts(t *testing.T, name string) {
	for _, x := range craft(t, name, view(10, 3, 2000, 3)) {
		require.InDelta(t, 20, math.Abs(level(x)), 1.5)
	}
}

// hidesInDeviation: the factor of Baruch et al. for n=20, f=6: s = 5 of 14 honest, so z is the quantile of
// 9/14.
func hidesInDeviation(t *testing.T, name string) {
	v := view(20, 6, 4000, 5)
	z := math.Sqrt2 * math.Erfinv(2*9.0/14-1)
	require.InDelta(t, 0.366, z, 1e-3)
	require.InDelta(t, 20-z*10*math.Sqrt(13.0/14), level(craft(t, name, v)[0]), 0.4)
}

// searches: the line search moves the rule's output at least as far as attacks of its family with a fixed
// factor.
func searches(fixed ...string) func(*testing.T, string) {
	return func(t *testing.T, name string) {
		for _, by := range []string{"krum", "trimmed-mean", "nnm+trimmed-mean", "mean"} {
			v := view(20, 6, 200, 9)
			v.Rule = by
			rule, err := rules.Lookup(by)
			require.NoError(t, err)
			damage := func(crafted []gradients.Vector) float64 {
				out, err := rule.Aggregate(rules.Input{N: 20, F: 6, Vectors: append(crafted, v.Honest...)})
				require.NoError(t, err)
				honest, sum := gradients.Mean(v.Honest), 0.0
				for j := range honest.Num {
					d := float64(out.Delta.Num[j])/float64(out.Delta.Den) - float64(honest.Num[j])/float64(honest.Den)
					sum += d * d
				}
				return sum
			}
			best := damage(craft(t, name, v))
			for _, other := range fixed {
				require.GreaterOrEqual(t, best, damage(craft(t, other, v))*(1-1e-9), "%s, %s", by, other)
			}
		}
	}
}

// TestOptimisedAgainstTheChain: the line search evaluates the rule with the
// chain's f. One attacker on a chain that drops the six longest must stay shorter
// than them, not than the longest alone.
func TestOptimisedAgainstTheChain(t *testing.T) {
	v := view(20, 1, 200, 9)
	v.Rule, v.Input.F = "cge", 6
	rule, err := rules.Lookup("cge")
	require.NoError(t, err)
	out, err := rule.Aggregate(rules.Input{N: 20, F: 6, Vectors: append(craft(t, "optimised-ipm", v), v.Honest...)})
	require.NoError(t, err)
	require.Contains(t, out.Selected, 0)
}

// staysWithin: the attack is no farther from any honest gradient than two honest ones are from each other,
// or in sum than one of them, and a little more would be.
func staysWithin(t *testing.T, name string) {
	v := view(20, 6, 400, 11)
	var pair, sum int64
	farthest := func(g gradients.Vector) (most, all int64) {
		for _, h := range v.Honest {
			d := gradients.SquaredDistance(g, h)
			most, all = max(most, d), all+d
		}
		return most, all
	}
	for _, h := range v.Honest {
		most, all := farthest(h)
		pair, sum = max(pair, most), max(sum, all)
	}
	most, all := farthest(craft(t, name, v)[0])
	if name == "min-max" {
		require.InEpsilon(t, pair, most, 0.01)
	} else {
		require.InEpsilon(t, sum, all, 0.01)
	}
	same := view(4, 1, 9, 1)
	same.Honest = []gradients.Vector{v.Honest[0], v.Honest[0], v.Honest[0]} // no deviation to hide in
	require.Equal(t, same.Honest[0], craft(t, name, same)[0])
}

// mimics: the victim is the one that stands apart round after round, and after the warm-up it is kept.
func mimics(t *testing.T, name string) {
	a, err := attack.Lookup(name)
	require.NoError(t, err)
	var memory attack.Memory
	for round := range 30 {
		v := view(10, 3, 200, uint64(round))
		v.Memory = &memory
		apart := 4 // of the honest
		if round >= 25 {
			apart = 2
		}
		for j := range 100 {
			v.Honest[apart].Set(j, 60)
		}
		crafted := a.Craft(v)
		if round >= 5 {
			require.Equal(t, v.Honest[4], crafted[0], round)
			require.Equal(t, v.Honest[4], crafted[2], round)
		}
	}
}

func TestPoison(t *testing.T) {
	for _, name := range []string{"label-flip", "aware+label-flip"} {
		a, err := attack.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, uint8(6), a.(attack.Poisoner).Poison(3, 10))
	}
	a, err := attack.Lookup("aware+zero")
	require.NoError(t, err)
	require.Equal(t, uint8(3), a.(attack.Poisoner).Poison(3, 10))
}

// TestAdmission: the bounds are those of the chain: one squared norm inside is
// admitted and the next outside refused, at either end.
func TestAdmission(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) {
		p.Model.Inputs, p.Privacy.NoiseFloor = 99, true
		p.Grid.Step = 1.0 / 256
	})
	bounds, distance := attack.Admission(s.Params, 0)
	require.Positive(t, bounds.Least)
	require.Positive(t, distance)
	// A vector of a given squared norm: all but the first coordinates alike, the rest
	// by greedy squares.
	of := func(norm int64) *tx.Tx {
		v := gradients.NewVector(gradients.Int8, len(s.Model))
		left, even := norm, int64(math.Sqrt(float64(norm)/float64(v.Len())))
		for j := 10; j < v.Len(); j++ {
			v.Set(j, even)
			left -= even * even
		}
		for j := 0; left > 0; j++ {
			q := min(int64(math.Sqrt(float64(left))), 127)
			v.Set(j, q)
			left -= q * q
		}
		require.Equal(t, norm, v.SquaredNorm())
		require.Equal(t, norm >= bounds.Least && norm <= bounds.Greatest, bounds.Holds(v))
		return apptest.Sign(0, &tx.Gradient{Payload: v.Encode(), VrfProof: apptest.Proof(s, 0)})
	}
	require.NoError(t, s.Admit(of(bounds.Least)))
	require.ErrorIs(t, s.Admit(of(bounds.Least-1)), app.ErrNorm)
	require.NoError(t, s.Admit(of(bounds.Greatest)))
	require.ErrorIs(t, s.Admit(of(bounds.Greatest+1)), app.ErrNorm)
	without, _ := attack.Admission(apptest.Params(4), 0)
	require.Equal(t, attack.Range{}, without)
	require.True(t, without.Holds(gradients.NewVector(gradients.Int8, 1)))
}

// TestAware: the aware variant of every attack that sends is admitted.
func TestAware(t *testing.T) {
	for _, name := range attack.Names() {
		v := view(20, 6, 1970, 11)
		v.Admits = attack.Range{Least: 1970 * 300, Greatest: 1970 * 700}
		for _, x := range craft(t, "aware+"+name, v) {
			require.True(t, x.Len() == 0 || v.Admits.Holds(x), "%s", name)
		}
	}
}
