package pages

import (
	"fmt"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// modelPage shows the model after the last closed round.
type modelPage struct {
	query.Status
	Params     params.Params
	At         *params.RoundID // the round after which the model is; nil if no round is closed
	Hash       string
	Exam       *exam  // nil if no model was measured
	Unmeasured string // the reason why there is no exam
	Charts     charts
	Sets       []coefficientSet // of a linear model of a table
	Opaque     string           // why there are none; "" for pictures
	Effect     *effect          // of one column
	Gain       bool             // the reader is a member that may see its gain
	Verify     string           // the command that checks the model's file
	Export     string           // the command that writes the model's file
}

// theModel shows the model after the last closed round.
func theModel(r *Request) Content {
	now := r.Course()
	b := modelPage{Status: now.Status, Params: now.Params, Unmeasured: r.WhyUnmeasured(), Gain: r.Gained != nil}
	if e, at := r.Measured(); e != nil {
		b.Exam = examOf(*e, at.Round, now.Params.Model)
	}
	b.Charts = chartsOf(now.Running(), now.Params.Privacy.Epsilon)
	if now.Status.Round > 0 {
		at := params.RoundID{Epoch: now.Status.Epoch, Round: now.Status.Round - 1}
		file := fmt.Sprintf("model-%d.safetensors", at.Round)
		b.At, b.Hash = &at, r.Model(at).Hash
		b.explain(r)
		b.Export = fmt.Sprintf("spdl model export --round %d --out %s --node %s", at.Round, file, r.Node)
		b.Verify, _, _ = r.verifying(0, "model "+file)
	}
	return Content{"model", "Model", b}
}

func (b modelPage) tables() []table {
	t := table{name: "confusion", header: []string{"class", "taken_for", "examples", "right"}}
	if b.Exam != nil {
		for of, class := range b.Exam.Classes {
			for as, count := range class.Row {
				t.add(of, as, count, of == as)
			}
		}
	}
	w := table{name: "coefficients", header: []string{"class", "column", "input", "coefficient", "noise"}}
	for _, s := range b.Sets {
		for _, c := range s.Rows {
			w.add(s.Number, c.Column, c.Input, c.Weight, c.Noise)
		}
	}
	return []table{t, w}
}

// shownClasses is the max number of classes for which a page shows results of each class.
const shownClasses = 20

// An exam is the result of a model on the test examples of this node.
type exam struct {
	chainview.Point             // the round of the model, with accuracy, loss and number of examples
	Classes         []classLine // none if there are too many, or if a trainer measured the model
}

// A classLine is a class and the results of its examples.
type classLine struct {
	Name            string
	Examples, Right int
	Taken           string // the class with which it is confused most often; "" for none
	Times           int    // the number of examples confused with it
	Row             []int  // how many of its examples the model assigned to each class
}

// Share returns the share of the examples that are right, in percent.
func (c classLine) Share() float64 { return 100 * float64(c.Right) / float64(max(1, c.Examples)) }

func examOf(e model.Eval, round uint64, m params.Model) *exam {
	out := &exam{chainview.Point{Round: round, Measures: chainview.MeasuresOf(e, m)}, nil}
	n := int(m.Classes)
	if len(e.Guesses) != n*n || n > shownClasses || n < 2 {
		return out
	}
	for of := range n {
		row := e.Guesses[of*n : (of+1)*n]
		line := classLine{Name: className(m, of), Right: row[of], Row: row}
		for as, count := range row {
			if line.Examples += count; as != of && count > line.Times {
				line.Taken, line.Times = className(m, as), count
			}
		}
		out.Classes = append(out.Classes, line)
	}
	return out
}

// className returns the name of a class: of a table its text, else its number.
func className(m params.Model, class int) string {
	if m.Table != nil && class < len(m.Table.Classes) {
		return m.Table.Classes[class]
	}
	return fmt.Sprintf("class %d", class)
}
