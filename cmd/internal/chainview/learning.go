package chainview

import "fmt"

// A model is hardly better than guessing below the share hardly of the way from guessing to no error. It has become
// worse if the best accuracy of the training exceeds its own by more than worse.
const hardly, worse = 0.25, 0.05

// Learning says how good the newest measured model of a training is, and whether it is poor: hardly better than
// guessing among a number of classes, which is 0 if it is unknown, or worse than it was.
func Learning(done bool, classes uint32, points []Point) (text string, poor bool) {
	var first, best, last *Point
	for i := range points {
		p := &points[i]
		if p.Accuracy == nil {
			continue
		}
		if first == nil {
			first = p
		}
		if best == nil || *p.Accuracy > *best.Accuracy {
			best = p
		}
		last = p
	}
	if last == nil {
		return "", false
	}
	right := fmt.Sprintf("%.1f %% of the test rows are right after round %d", 100**last.Accuracy, last.Round)
	guess := 1 / float64(max(1, classes))
	poor = classes >= 2 && *last.Accuracy < guess+hardly*(1-guess)
	switch {
	case poor && done:
		return fmt.Sprintf("The model has hardly learned: %s, and guessing gives %.1f %%.", right, 100*guess), true
	case poor:
		return fmt.Sprintf("Learning has hardly begun: %s, and guessing gives %.1f %%.", right, 100*guess), true
	case *best.Accuracy-*last.Accuracy > worse:
		return fmt.Sprintf("The model has become worse: %s, %.1f %% after round %d.", right, 100**best.Accuracy,
			best.Round), true
	case last == first:
		return right + ".", false
	case *last.Accuracy > *first.Accuracy:
		return fmt.Sprintf("The model learns: %s, %.1f %% after round %d.", right, 100**first.Accuracy, first.Round), false
	}
	return fmt.Sprintf("The model is as good as at first: %s.", right), false
}
