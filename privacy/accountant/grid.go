package accountant

import "math"

// grid is how the losses of a composition are made discrete.
type grid struct {
	steps  []Step
	step   float64 // of the losses
	finest float64 // the least step
	tail   float64 // probability beyond which a round's outcomes are cut off
}

// newGrid chooses a grid for which the moment of order alpha of the whole composition rises by no more than rise, size
// permitting, and which cuts off a small share of delta. A cell of width h raises the moment of any loss in it by a
// factor of 1 + alpha(alpha-1)h²/8 at most, by which the secant of exp exceeds it.
func newGrid(steps []Step, alpha, rise, delta float64) grid {
	rounds, width := 0.0, 0.0
	for _, s := range steps {
		rounds += float64(s.Rounds)
	}
	tail := tailShare * delta / rounds
	for _, s := range steps {
		width = max(width, s.lossRange(tail))
	}
	finest := width * float64(len(steps)) / maxCells
	step := math.Sqrt(8 * rise / (rounds * alpha * (alpha - 1)))
	return grid{steps: steps, step: max(min(step, width/minCells), finest), finest: finest, tail: tail}
}

// refine makes the grid finer until the relative error of the answer is the given one, the answer is negligible, or the
// grid cannot be finer, and returns the answer. The error falls with the square of the step, so 4 times the step has 16
// times the error. That measures the error also where the moment says little about it, because few rounds lose much.
func (g grid) refine(relative, negligible float64, ask func(composition) answer) float64 {
	last := g.coarse(ask)
	for {
		value, step := g.worst(ask)
		if value < negligible || last-value <= 15*relative*value || step > g.step || step == g.finest {
			return min(value, last)
		}
		last, g.step = value, max(g.step/4, g.finest)
	}
}

// coarse returns the answer on a grid of 4 times the step.
func (g grid) coarse(ask func(composition) answer) float64 {
	g.step *= 4
	value, _ := g.worst(ask)
	return value
}

// worst returns the larger of the answers for the two directions. Should a transform be too long, the grid gets
// coarser; if that does not help, the answer is +Inf. The step is the one that was used.
func (g grid) worst(ask func(composition) answer) (value, step float64) {
	for range 8 {
		var remove, add []part
		for _, s := range g.steps {
			r, a := discretize(s.Mechanism, g.step, g.tail)
			remove = append(remove, part{r, float64(s.Rounds)})
			add = append(add, part{a, float64(s.Rounds)})
		}
		got := ask(newComposition(remove, g.step))
		if got.fill <= 1 {
			other := ask(newComposition(add, g.step))
			got = answer{max(got.value, other.value), other.fill}
		}
		if got.fill <= 1 {
			return got.value, g.step
		}
		g.step *= 1.1 * got.fill
	}
	return math.Inf(1), g.step
}
