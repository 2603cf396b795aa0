package chainview

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A model is hardly better than guessing below the share hardly of the way from guessing to no error. It has become
// worse if the best accuracy of the training exceeds its own by more than worse, and by more than its doubt.
const hardly, worse = 0.25, 0.05

// Learning says how good the newest measured model of a training is, and whether it is poor: hardly better than
// guessing, or worse than it was. A model of two classes is judged by its AUC, because the accuracy of guessing may be
// high. classes is 0 if it is unknown.
func Learning(done bool, classes uint32, points []Point) (text string, poor bool) {
	value, what := func(p Point) *float64 { return p.Accuracy }, "%s of the test rows are right after round %d"
	say := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
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
	case *value(best)-now > worse && *value(best)-now <= doubt(last):
		return fmt.Sprintf("%s, %s after round %d: too close for %d test rows to say which is better.", right,
			say(*value(best)), best.Round, last.Examples), false
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

// doubt returns two standard errors of the measure by which Learning judges a point: of an accuracy as a share of its
// test rows, and of an AUC by Hanley and McNeil. It is 0 if the number of rows is unknown.
func doubt(p Point) float64 {
	n, q := float64(p.Examples), p.Quality()
	switch {
	case n == 0:
		return 0
	case q == nil:
		return 2 * math.Sqrt(*p.Accuracy*(1-*p.Accuracy)/n)
	}
	a, positive, negative := q.AUC, n*q.Rate, n*(1-q.Rate)
	return 2 * math.Sqrt((a*(1-a)+(positive-1)*(a/(2-a)-a*a)+(negative-1)*(2*a*a/(1+a)-a*a))/(positive*negative))
}

func aucOf(p Point) *float64 {
	if q := p.Quality(); q != nil {
		return &q.AUC
	}
	return nil
}
