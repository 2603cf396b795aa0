package testnet_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
)

// noisy is a view as a private chain's: noise of ten times the slope, and a floor of 0.865 of its
// squared norm, as the chain asks for.
func noisy(rule string, seed uint64) attack.View {
	const d = 1600
	v := view(20, 6, d, seed)
	weak := func(all []gradients.Vector) []gradients.Vector {
		for _, h := range all {
			for j := range d {
				h.Set(j, h.At(j)-18)
			}
		}
		return all
	}
	weak(v.Honest)
	imagined := v.Imagined
	v.Imagined = func() []gradients.Vector { return weak(imagined()) }
	v.Rule, v.Input.Floor = rule, 2*80*d
	v.Admits = attack.Range{Least: 86 * d, Greatest: 140 * d}
	return v
}

// push returns how far the rule's output goes along the slope of the goals.
func push(t *testing.T, v attack.View, crafted []gradients.Vector) float64 {
	t.Helper()
	rule, err := rules.Lookup(v.Rule)
	require.NoError(t, err)
	in := v.Input
	in.Vectors = slices.DeleteFunc(slices.Concat(crafted, v.Honest), func(x gradients.Vector) bool { return x.Len() == 0 })
	out, err := rule.Aggregate(in)
	require.NoError(t, err)
	var sum float64
	for j, u := range v.Slope(attack.Goals[0], v.Model) {
		sum += u * float64(out.Delta.Num[j]) / float64(out.Delta.Den)
	}
	return sum / math.Sqrt(float64(len(out.Delta.Num)))
}

// hides: what the attackers send is admitted and pushes the rule's output along u more than a plain attack.
// The vectors are alike unless each has noise of its own. Attackers push in the first round too, and late
// ones do it without the round's honest vectors.
func hides(t *testing.T, name string) {
	const rule = "nnm+trimmed-mean"
	v := noisy(rule, 3)
	crafted := craft(t, name, v)
	for _, x := range crafted {
		require.True(t, v.Admits.Holds(x))
	}
	far := push(t, v, crafted)
	require.Greater(t, far, 3*push(t, noisy(rule, 3), craft(t, "aware+optimised-ipm", noisy(rule, 3))))
	require.Equal(t, !strings.Contains(name, "own-noise"), slices.Equal(crafted[0].Encode(), crafted[5].Encode()))
	first := noisy(rule, 3)
	first.Memory = new(attack.Memory)
	begun := craft(t, name, first)
	require.Greater(t, push(t, first, begun), far/2)
	other := noisy(rule, 3)
	other.Memory, other.Honest = new(attack.Memory), noisy(rule, 4).Honest
	require.Equal(t, strings.HasSuffix(name, "+late"), slices.EqualFunc(begun, craft(t, name, other),
		func(a, b gradients.Vector) bool { return slices.Equal(a.Encode(), b.Encode()) }))
}

// TestHidden: every vector is admitted, and the rule's output goes farther along u than with any
// attack that is not of the family; with the mean as rule, as far as the greatest norm lets it.
func TestHidden(t *testing.T) {
	for _, rule := range []string{"nnm+trimmed-mean", "multi-krum", "centered-clipping"} {
		v := noisy(rule, 3)
		most := 0.0
		for _, name := range attack.Names() {
			if !strings.HasPrefix(name, "hidden") {
				most = max(most, push(t, noisy(rule, 3), craft(t, "aware+"+name, v)))
			}
		}
		crafted := craft(t, "hidden-margin", v)
		for _, x := range crafted {
			require.True(t, v.Admits.Holds(x))
		}
		require.Equal(t, crafted[0], crafted[5], "all alike")
		require.Greater(t, push(t, v, crafted), max(40, 3*most), rule)
	}
	for _, greatest := range []int64{146, 9000} { // 1.3 and 10 honest norms
		v := noisy("mean", 3)
		v.Admits.Greatest = greatest * 1600
		require.InEpsilon(t, 0.3*math.Sqrt(float64(v.Admits.Greatest)), push(t, v, craft(t, "hidden-ascent", v)), 0.05)
	}
}

// TestHiddenPlanned: planned attackers push along the slope at the model that they expect, and other
// attackers at the present one.
func TestHiddenPlanned(t *testing.T) {
	along := func(name string, at func(attack.View) []float64) float64 {
		v := noisy("mean", 3)
		v.Slope = func(_ attack.Goal, at []float64) []float64 { return at }
		v.Model = append([]float64{1}, make([]float64, v.Honest[0].Len()-1)...)
		sent := steps(gradients.Mean(craft(t, name, v)))
		return Dot(sent, at(v)) / math.Sqrt(Dot(sent, sent)*Dot(at(v), at(v)))
	}
	for name, want := range map[string]bool{"hidden-margin+planned": true, "hidden-margin": false} {
		expected := along(name, func(v attack.View) []float64 { return v.Expected() })
		present := along(name, func(v attack.View) []float64 { return v.Model })
		require.Equal(t, want, expected > 0.3, "%s: %.2f", name, expected)
		require.Equal(t, !want, present > 0.3, "%s: %.2f", name, present)
	}
}

// TestHiddenAdapts: the search runs on the rule that the view names, with the view's input.
func TestHiddenAdapts(t *testing.T) {
	v := noisy("cge", 5) // drops the f longest
	longest := int64(0)
	for _, x := range craft(t, "hidden-margin", v) {
		longest = max(longest, x.SquaredNorm())
	}
	v.Input.F = 0
	freely := craft(t, "hidden-margin", v)[0].SquaredNorm()
	require.Greater(t, freely, longest)
}

// TestHiddenVariants: own noise keeps any two attackers nearly as far apart as honest vectors are;
// late attackers use nothing of the round's honest vectors.
func TestHiddenVariants(t *testing.T) {
	v := noisy("nnm+trimmed-mean", 7)
	own := craft(t, "hidden-margin+own-noise", v)
	for i, x := range own {
		require.True(t, v.Admits.Holds(x))
		for _, y := range own[:i] {
			require.Greater(t, gradients.SquaredDistance(x, y), v.Input.Floor*9/10)
		}
	}
	// Their noises cancel: nothing but u and the honest mean is left of their mean. Noises that did
	// not would leave a sixth of 0.8.
	rest := steps(gradients.Mean(own))
	for _, way := range [][]float64{v.Slope(attack.Goals[0], v.Model), steps(gradients.Mean(v.Honest))} {
		along := Dot(rest, way) / Dot(way, way)
		for j := range rest {
			rest[j] -= along * way[j]
		}
	}
	require.Less(t, Dot(rest, rest), 0.02*float64(own[0].SquaredNorm()))
	for _, name := range []string{"hidden-margin+late", "hidden-backdoor+own-noise+late"} {
		var memory attack.Memory
		sent := func(round, now uint64) []gradients.Vector {
			first := noisy("nnm+trimmed-mean", round)
			first.Memory = &memory
			craft(t, name, first)
			second := noisy("nnm+trimmed-mean", 2)
			second.Honest, second.Memory = noisy("nnm+trimmed-mean", now).Honest, &memory
			return craft(t, name, second)
		}
		require.Equal(t, sent(1, 2), sent(1, 3), name)
		require.NotEqual(t, sent(1, 2), sent(4, 2), name)
	}
}

func steps(f gradients.Fraction) []float64 {
	x := make([]float64, len(f.Num))
	for j := range x {
		x[j] = float64(f.Num[j]) / float64(f.Den)
	}
	return x
}

func Dot(a, b []float64) (sum float64) {
	for j := range a {
		sum += a[j] * b[j]
	}
	return sum
}

// TestDrift: where the loss is steeper a hundred times in every other coordinate, the push is in
// the others; a push along the slope is in all alike.
func TestDrift(t *testing.T) {
	steep := func(name string) float64 {
		v := noisy("mean", 9)
		v.Slope = func(g attack.Goal, at []float64) []float64 {
			u := make([]float64, len(at))
			for j := range u {
				u[j] = 1 + at[j]
				if j%2 == 0 {
					u[j] = 1 + 100*at[j]
				}
			}
			return u
		}
		var even, odd float64
		for _, x := range craft(t, name, v) {
			for j := range x.Len() {
				if j%2 == 0 {
					even += float64(x.At(j))
				} else {
					odd += float64(x.At(j))
				}
			}
		}
		return even / odd
	}
	require.InDelta(t, 1, steep("hidden-margin"), 0.2)
	require.Less(t, steep("hidden-drift"), 0.6)
}

// TestGoals: a step against a goal's slope, in the logits, does what the goal says.
func TestGoals(t *testing.T) {
	moved := func(name string, label uint8) (before, after []float32) {
		for _, g := range attack.Goals {
			if g.Name != name {
				continue
			}
			before = []float32{1, 2.5, 2, -1}
			after = slices.Clone(before)
			slope := slices.Clone(before)
			g.Deltas(slope, label)
			for c := range after {
				after[c] -= 0.1 * slope[c]
			}
		}
		return before, after
	}
	before, after := moved("margin", 1)
	require.Less(t, after[1], before[1])
	require.Greater(t, after[2], before[2], "the strongest rival")
	require.Equal(t, []float32{before[0], before[3]}, []float32{after[0], after[3]})
	before, after = moved("ascent", 1)
	require.Less(t, after[1], before[1])
	require.Greater(t, after[0], before[0])
	before, after = moved("backdoor", attack.Target)
	require.Greater(t, after[0], before[0])
	for label := range uint8(4) {
		before, after = moved("threshold", label)
		require.Less(t, after[3], before[3])
		require.Greater(t, after[1], before[1], "the strongest other")
		before, after = moved("flood", label)
		require.Greater(t, after[3], before[3])
	}
}

// TestGoalsOfTwoClasses: on logits 0 and z of a model with one output, a step against a goal's slope in z
// lowers the true class's margin, or moves all examples to one side of the threshold.
func TestGoalsOfTwoClasses(t *testing.T) {
	for _, g := range attack.Goals {
		for label := range uint8(2) {
			for _, z := range []float32{-2, 0, 0.5, 3} {
				slope := []float32{0, z}
				g.Deltas(slope, label)
				require.InDelta(t, -slope[0], slope[1], 1e-6, g.Name)
				up := map[string]bool{"threshold": false, "flood": true, "backdoor": label == 1}
				rises, one := up[g.Name]
				if !one {
					rises = label == 0
				}
				require.Equal(t, rises, slope[1] < 0, "%s, label %d, z %g", g.Name, label, z)
			}
		}
	}
}
