package evaluate

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/printable"
)

// Measures are what stands beside a model's accuracy: an accuracy alone hides that a rare class is never predicted.
type Measures struct {
	Majority float64  `json:"majority"`           // the base rate: accuracy of always guessing Frequent
	Frequent string   `json:"frequent"`           // the most frequent class, in a table as label=class
	Quality  *Quality `json:"quality"`            // null unless two classes are measured
	Positive string   `json:"positive,omitempty"` // of two classes the second, that of Quality's positive examples
	// Class is the rarer of two classes, and of more the one with the least recall: of its Examples, above 0,
	// the part Recall is predicted.
	Class    string   `json:"class"`
	Recall   float64  `json:"recall"`
	Examples int      `json:"class_examples"`
	Warnings []string `json:"warnings,omitempty"`
}

// farMean is the distance of the mean probability from the rate, in standard errors, from which a model gets a
// warning. A calibrated model gets one in 370 test sets, where the mean is near to normal.
const farMean = 3

// Judge returns what stands beside the accuracy of a model m, with warnings, or nil if no counts by class are known.
func Judge(e model.Eval, m params.Model) *Measures {
	if e.Guesses == nil {
		return nil
	}
	table := TableOf(m)
	name := func(class int) string {
		if table != nil && class < len(table.Classes) {
			return printable.Line(table.Label + "=" + table.Classes[class])
		}
		return fmt.Sprintf("class %d", class)
	}
	labels, guesses := e.Counts()
	out, frequent, worst := Measures{Majority: e.Majority(), Quality: e.Quality, Recall: 2}, 0, 0
	for class, n := range labels {
		if n > labels[frequent] {
			frequent = class
		}
		if n > 0 && guesses[class] == 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s is never predicted: %d test examples have it", name(class), n))
		}
		recall := float64(e.Guesses[class*len(labels)+class]) / float64(n)
		rarer := len(labels) == 2 && (out.Examples == 0 || n <= out.Examples)
		if n > 0 && (rarer || len(labels) > 2 && recall < out.Recall) {
			worst, out.Recall, out.Examples = class, recall, n
		}
	}
	if out.Frequent, out.Class = name(frequent), name(worst); len(labels) == 2 {
		out.Positive = name(1)
	}
	if q := e.Quality; q != nil {
		if off := math.Abs(q.Mean - q.Rate); q.Error > 0 && off > farMean*q.Error {
			fits := map[bool]string{false: "adapt fits them to one's own rows", true: "gain says what one's own intercept does"}
			out.Warnings = append(out.Warnings, fmt.Sprintf("the mean probability of %s is %.3f and its rate %.3f, %.1f "+
				"standard errors apart (want %d at most): do not take the probabilities as they are: spdl model %s",
				out.Positive, q.Mean, q.Rate, off/q.Error, farMean, fits[m.Kind == params.ModelExternal]))
		}
	}
	return &out
}

// String returns the measures in one line.
func (m Measures) String() string {
	text := fmt.Sprintf("guessing %s gives %.4f; ", m.Frequent, m.Majority)
	if q := m.Quality; q != nil {
		text += fmt.Sprintf("AUC %.4f, Brier score %.4f (by the rate %.4f); ", q.AUC, q.Brier, q.Rate*(1-q.Rate))
	}
	which := map[bool]string{false: "recall of", true: "the least recall is that of"}[m.Positive == ""]
	return text + fmt.Sprintf("%s %s, %.4f of %d", which, m.Class, m.Recall, m.Examples)
}
