package privacy_test

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

var (
	rows  = flag.Int("rows", 20_000, "rows of the worker in TestOneRunAudit, half of the canaries among them")
	runs  = flag.Int("runs", 1, "its runs, each with other coins")
	crowd = flag.Int("canaries", 1000, "its canaries")
)

// epsilonBelow returns the least epsilon that is not refuted at 95 % by an audit of one run: each
// of m canaries was in by a fair coin, and v of r guesses of these coins are right. It is 0 where
// no epsilon is refuted.
//
// Source: Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", 2023, theorem
// 5.2.
func epsilonBelow(m, r, v int, delta float64) float64 {
	low, high := 0.0, 50.0
	if chance(m, r, v, low, delta) > miss {
		return 0
	}
	for high-low > 1e-6 {
		if middle := (low + high) / 2; chance(m, r, v, middle, delta) > miss {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// chance bounds the chance of at least v right guesses of r under (epsilon, delta)-privacy.
func chance(m, r, v int, epsilon, delta float64) float64 {
	if v == 0 {
		return 1
	}
	q := 1 / (1 + math.Exp(-epsilon))
	mass, worst := 0.0, 0.0
	for i := 1; i <= v; i++ {
		mass += binomial(v-i, r, q)
		worst = max(worst, mass/float64(i))
	}
	return min(1, mathext.RegIncBeta(float64(v), float64(r-v+1), q)+2*float64(m)*delta*worst)
}

func binomial(k, n int, q float64) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q))
}

// withCanaries returns images and n canaries. Each canary has a column of its own, which is 0 in
// all other rows, so that no other row's gradient hides its own: a Dirac canary, the worst for its
// owner.
func withCanaries(images mnist.Features, n int) (wide, canaries mnist.Features) {
	wide.Inputs, canaries.Inputs = images.Inputs+n, images.Inputs+n
	wide.Labels = images.Labels
	for i := range images.Len() {
		wide.X = append(append(wide.X, images.Row(i)...), make([]float32, n)...)
	}
	canaries.X, canaries.Labels = make([]float32, n*canaries.Inputs), make([]uint8, n)
	for i := range n {
		canaries.X[i*canaries.Inputs+images.Inputs+i] = 10 // ten times what a bias is fed with
		canaries.Labels[i] = uint8(i % mnist.Classes)
	}
	return wide, canaries
}

// dealt returns images and those canaries that a coin put among them, copies rows of each, and the coins.
func dealt(seed uint64, copies int, images, all mnist.Features) (data mnist.Features, in []bool) {
	rng := rand.New(rand.NewPCG(seed, 9))
	data = mnist.Features{X: slices.Grow(slices.Clone(images.X), len(all.X)), Labels: slices.Clone(images.Labels),
		Inputs: images.Inputs, Groups: slices.Clone(images.Groups)}
	in = make([]bool, all.Len())
	for i := range in {
		if in[i] = rng.IntN(2) == 1; !in[i] {
			continue
		}
		for range copies {
			data.X, data.Labels = append(data.X, all.Row(i)...), append(data.Labels, all.Labels[i])
			if data.Groups != nil {
				data.Groups = append(data.Groups, uint32(images.Len()+i))
			}
		}
	}
	return data, in
}

// oneRun trains once, as a worker with these parameters does, on images and on those canaries that
// a coin put among them, a group of copies rows each where the unit is a group. It guesses the coins
// of the canaries with the highest and the lowest likelihood ratios, a tenth of them each, and returns
// how many guesses it made and how many are right.
func oneRun(t *testing.T, p params.Params, copies int, images, all mnist.Features, seed uint64) (guesses, right int) {
	data, in := dealt(seed, copies, images, all)
	trainer, err := worker.NewTrainer(p, data, privacy.NewTestSource(seed))
	require.NoError(t, err)
	m, err := model.New(model.SpecOf(p.Model))
	require.NoError(t, err)

	scores := make([]float64, all.Len())
	x, before, rest, g := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim()),
		make([]float64, m.Dim())
	beta, step, z := p.Privacy.WorkerMomentum, p.Grid.Step, p.Privacy.NoiseMultiplier
	scale := float64(p.Privacy.Batch)
	if !p.Privacy.Sums() {
		scale /= 1 - beta
	}
	variance := z*z + (1+beta*beta)*scale*scale*step*step/12
	for range p.Training.Rounds {
		var v gradients.Vector
		v, _ = trainer.Step(x)
		for j := range rest { // the momentum is undone
			now := step * float64(v.At(j))
			rest[j], before[j] = scale*(now-beta*before[j]), now
		}
		for i := range scores {
			m.ClippedSum(g, x, all.Row(i), all.Labels[i:i+1], p.Privacy.Clip)
			s, power := 0.0, 0.0
			for j, c := range g[:len(g)-mnist.Classes] { // the last are the biases, to whose gradients all rows add
				s, power = s+c*rest[j], power+c*c
			}
			scores[i] += likelihood(s/variance, power/variance, p.Privacy.SamplingRate)
		}
		for j := range x {
			if p.Privacy.Sums() { // the model began at 0
				x[j] = 0
			}
			x[j] -= p.Training.LearningRate * before[j]
		}
	}
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	for k := range len(order) / 10 {
		guesses += 2
		if !in[order[k]] {
			right++
		}
		if in[order[len(order)-1-k]] {
			right++
		}
	}
	return guesses, right
}

// TestOneRunAudit audits a worker of the preset pixels that has a third more rows than the batch is
// for: what one run tells does not refute its epsilon. With a sixth of the noise the same audit
// refutes that epsilon. So it is where the unit is a group of four rows, and vectors are sums.
func TestOneRunAudit(t *testing.T) {
	stage.OnlyLong(t) // trains on 20,000 rows four times
	p, err := preset.New("pixels", 4)
	require.NoError(t, err)
	require.Equal(t, []float64{epsilon, 1, rounds}, []float64{p.Privacy.Epsilon, p.Privacy.SamplingRate,
		float64(p.Training.Rounds)})
	t.Run("example", func(t *testing.T) { audit(t, p, 1) })
	const copies = 4
	p, err = preset.Make("pixels", 4, preset.Own{Rounds: 25, Examples: *rows / copies * 3 / 4})
	require.NoError(t, err)
	require.Equal(t, []float64{epsilon, 1}, []float64{p.Privacy.Epsilon, p.Privacy.SamplingRate})
	p.Privacy.Unit, p.Privacy.WorkerMomentum, p.Grid.Width = params.UnitGroup, 1, uint32(gradients.Int16)
	p.Grid.Step = worker.GridStep(p.Privacy)
	t.Run("group, sums", func(t *testing.T) { audit(t, p, copies) })
}

// audit audits a worker whose units have a number of rows each.
func audit(t *testing.T, p params.Params, copies int) {
	index := make([]int, *rows-copies**crowd/2)
	for i := range index {
		index[i] = i
	}
	images, err := train(t).Subset(index).Features(2, 0, math.MaxUint8)
	require.NoError(t, err)
	if copies > 1 {
		for i := range index {
			images.Groups = append(images.Groups, uint32(i/copies))
		}
	}
	groups := images.Groups
	images, all := withCanaries(images, *crowd)
	images.Groups = groups
	p.Model.Inputs = uint32(images.Inputs)
	for run := range uint64(*runs) {
		guesses, right := oneRun(t, p, copies, images, all, 1+run)
		least := epsilonBelow(*crowd, guesses, right, delta)
		t.Logf("z=%v: %d of %d guesses are right: epsilon is at least %.3f, promised is %v", p.Privacy.NoiseMultiplier, right,
			guesses, least, epsilon)
		assert.LessOrEqual(t, least, float64(epsilon))
	}
	open := p
	open.Privacy.NoiseMultiplier /= 6
	open.Privacy.NoiseFloor = false
	open.Grid.Step = worker.GridStep(open.Privacy)
	guesses, right := oneRun(t, open, copies, images, all, 1)
	least := epsilonBelow(*crowd, guesses, right, delta)
	t.Logf("z=%.3f: %d of %d guesses are right: epsilon is at least %.3f", open.Privacy.NoiseMultiplier, right, guesses,
		least)
	assert.Greater(t, least, float64(epsilon))
}

// TestEpsilonBelow: all right of r guesses refute what the probability q^r <= 1/20 does; half right
// refute nothing; delta takes from what is refuted.
func TestEpsilonBelow(t *testing.T) {
	q := math.Pow(miss, 1.0/100)
	assert.InDelta(t, math.Log(q/(1-q)), epsilonBelow(1000, 100, 100, 0), 1e-5)
	assert.Zero(t, epsilonBelow(1000, 100, 50, 0))
	assert.Less(t, epsilonBelow(1000, 100, 100, 1e-5), epsilonBelow(1000, 100, 100, 0))
	sum := 0.0
	for k := range 11 {
		sum += binomial(k, 10, 0.3)
	}
	assert.InDelta(t, 1, sum, 1e-12)
}
