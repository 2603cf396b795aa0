package chainview

import (
	"cmp"
	"fmt"
	"slices"
)

// A model is hardly better than guessing below the share hardly of the way from guessing to no error. It has become
// worse if the best accuracy of the training exceeds its own by more than worse.
const hardly, worse = 0.25, 0.05

// Learning says how good the newest measured model of a training is, and whether it is poor: hardly better than
// guessing, or worse than it was. A model of two classes is judged by its AUC, because the accuracy of guessing may be
// high. classes is 0 if it is unknown.
func Learning(done bool, classes uint32, points []Point) (text string, poor bool) {
	value, say, what := accuracyOf, percent, "%s of the test rows are right after round %d"
	if slices.ContainsFunc(points, func(p Point) bool { return p.Quality() != nil }) {
		value, say, what = aucOf, func(x float64) string { return fmt.Sprintf("%.3f", x) }, "AUC %s after round %d"
	}
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return value(p) == nil })
	if len(points) == 0 {
		return "", false
	}
	best := slices.MaxFunc(points, func(a, b Point) int { return cmp.Compare(*value(a), *value(b)) })
	first, last := points[0], points[len(points)-1]
	guess, now := 1/float64(max(1, classes)), *value(last)
	if last.Quality() != nil {
		guess = 0.5
	} else if last.Beside != nil {
		guess = last.Beside.Majority
	}
	right := fmt.Sprintf(what, say(now), last.Round)
	poor = classes >= 2 && now < guess+hardly*(1-guess)
	switch {
	case poor && done:
		return fmt.Sprintf("The model has hardly learned: %s, and guessing gives %s.", right, say(guess)), true
	case poor:
		return fmt.Sprintf("Learning has hardly begun: %s, and guessing gives %s.", right, say(guess)), true
	case *value(best)-now > worse:
		return fmt.Sprintf("The model has become worse: %s, %s after round %d.", right, say(*value(best)), best.Round), true
	case len(points) == 1:
		return right + ".", false
	case now > *value(first):
		return fmt.Sprintf("The model learns: %s, %s after round %d.", right, say(*value(first)), first.Round), false
	}
	if a, b := first.Quality(), last.Quality(); a != nil && b != nil {
		return fmt.Sprintf("The model ranks rows as at first: %s. Its Brier score is %.3f, %.3f after round %d.", right,
			b.Brier, a.Brier, first.Round), false
	}
	return fmt.Sprintf("The model is as good as at first: %s.", right), false
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func accuracyOf(p Point) *float64 { return p.Accuracy }

func aucOf(p Point) *float64 {
	if q := p.Quality(); q != nil {
		return &q.AUC
	}
	return nil
}
