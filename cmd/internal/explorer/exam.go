package explorer

import (
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// shownClasses is the max number of classes for which a page shows results of each class.
const shownClasses = 20

// An exam is the result of a model on the test examples of this node.
type exam struct {
	chainview.Point             // the round after which the model was measured, with accuracy, loss and number of examples
	Classes         []classLine // none if there are too many, or if a trainer measured the model
	Guesses         []int       // a row for each class: how many of its examples the model assigned to each class
}

// A classLine is a class and the results of its examples.
type classLine struct {
	Name            string
	Examples, Right int
	Taken           string // the class with which it is confused most often; "" for none
	Times           int    // the number of examples confused with it
}

// Share returns the share of the examples that are right, in percent.
func (c classLine) Share() float64 { return 100 * float64(c.Right) / float64(max(1, c.Examples)) }

// exam returns the result of the newest measured model, or nil if none was measured.
func (t *tail) exam() *exam {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.newest == nil {
		return nil
	}
	return examOf(*t.newest, t.measuredAt.Round, t.params.Model)
}

func examOf(e model.Eval, round uint64, m params.Model) *exam {
	out := &exam{Point: chainview.Point{Round: round, Examples: e.Examples, Accuracy: chainview.Finite(e.Accuracy), Loss: chainview.Finite(e.Loss)}}
	n := int(m.Classes)
	if len(e.Guesses) != n*n || n > shownClasses || n < 2 {
		return out
	}
	out.Guesses = e.Guesses
	for of := range n {
		row := e.Guesses[of*n : (of+1)*n]
		line := classLine{Name: className(m, of), Right: row[of]}
		for as, count := range row {
			if line.Examples += count; as != of && count > line.Times {
				line.Taken, line.Times = className(m, as), count
			}
		}
		out.Classes = append(out.Classes, line)
	}
	return out
}
