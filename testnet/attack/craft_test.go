package attack_test

import (
	"math"
	"math/rand/v2"
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
	v.Model = make([]float64, d)
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
	require.ErrorContains(t, err, "sign-flip")
}

// TestShapes: what each attack is known for, on honest gradients of about 20.
func TestShapes(t *testing.T) {
	for name, want := range map[string]float64{
		"constant": 127, "saturation": -127, "zero": 0, "sign-flip": -20, "minus-half-mean": -10, "minus-mean": -20,
		"minus-3-mean":     -60,
		"minus-mean+noise": -20, "minus-mean+shared-noise": -20, "ipm": -2, "mimic": 20, "lazy-copy": 20, "label-flip": 20,
	} {
		for _, x := range craft(t, name, view(10, 3, 2000, 3)) {
			require.InDelta(t, want, level(x), 1.5, name)
		}
	}
	for _, x := range craft(t, "silent", view(10, 3, 64, 3)) {
		require.Zero(t, x.Len())
	}
	shared := craft(t, "minus-mean+shared-noise", view(10, 3, 64, 3))
	require.Equal(t, shared[0], shared[2])
	own := craft(t, "minus-mean+noise", view(10, 3, 64, 3))
	require.NotEqual(t, own[0], own[2])
}

// TestALIE: the factor of Baruch et al. for n=20, f=6: s = 5 of 14 honest, so
// z is the quantile of 9/14.
func TestALIE(t *testing.T) {
	v := view(20, 6, 4000, 5)
	z := math.Sqrt2 * math.Erfinv(2*9.0/14-1)
	require.InDelta(t, 0.366, z, 1e-3)
	require.InDelta(t, 20-z*10*math.Sqrt(13.0/14), level(craft(t, "alie", v)[0]), 0.4)
}

// TestOptimised: the line search moves the rule's output at least as far as any
// fixed factor of its family that it tries.
func TestOptimised(t *testing.T) {
	for _, name := range []string{"krum", "trimmed-mean", "nnm+trimmed-mean", "mean"} {
		v := view(20, 6, 200, 9)
		v.Rule = name
		rule, err := rules.Lookup(name)
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
		best := damage(craft(t, "optimised-ipm", v))
		require.GreaterOrEqual(t, best, damage(craft(t, "minus-mean", v))*(1-1e-9), name) // k = 2
		require.GreaterOrEqual(t, best, damage(craft(t, "zero", v))*(1-1e-9), name)       // k = 1
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

// TestWithin: the attack is no farther from any honest gradient than two honest
// ones are from each other, or in sum than one of them, and a little more would be.
func TestWithin(t *testing.T) {
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
	most, _ := farthest(craft(t, "min-max", v)[0])
	require.InEpsilon(t, pair, most, 0.01)
	_, all := farthest(craft(t, "min-sum", v)[0])
	require.InEpsilon(t, sum, all, 0.01)
	same := view(4, 1, 9, 1)
	same.Honest = []gradients.Vector{v.Honest[0], v.Honest[0], v.Honest[0]} // no deviation to hide in
	require.Equal(t, same.Honest[0], craft(t, "min-max", same)[0])
}

// TestMimic: the victim is the one that stands apart round after round, and after
// the warm-up it is kept.
func TestMimic(t *testing.T) {
	a, err := attack.Lookup("mimic")
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
