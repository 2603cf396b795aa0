package explorer

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// modelPage shows the model after the last closed round.
type modelPage struct {
	query.Status
	Params                  params.Params
	At                      *params.RoundID // the round after which the model is; nil if no round is closed
	Hash                    string
	Exam                    *exam  // nil if no model was measured
	Unmeasured              string // the reason why there is no exam
	Accuracy, Loss, Epsilon chart  // by round
	Verify                  string // the command that checks the model's file
	Export                  string // the command that writes the model's file
}

// model shows the model after the last closed round.
func (s *Server) model(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	b := modelPage{Status: status, Params: running, Exam: s.tail.exam(), Unmeasured: s.tail.whyUnmeasured()}
	points = slices.DeleteFunc(points, func(p chainview.Point) bool { return p.Epoch != status.Epoch })
	b.Accuracy, b.Loss, b.Epsilon = chartsOf(points, running.Privacy.Epsilon)
	if status.Round > 0 {
		at := params.RoundID{Epoch: status.Epoch, Round: status.Round - 1}
		m, err := s.source.model(r.Context(), at)
		if err != nil {
			return content{}, err
		}
		b.At, b.Hash = &at, m.Hash
		file := fmt.Sprintf("model-%d.safetensors", at.Round)
		b.Export = fmt.Sprintf("spdl model export --round %d --out %s --node %s", at.Round, file, s.node)
		b.Verify = s.verifying(r.Context(), "model "+file)
	}
	return content{"model", "Model", b}, nil
}

func (b modelPage) tables() []table {
	t := table{name: "confusion", header: []string{"class", "taken_for", "examples", "right"}}
	if b.Exam != nil {
		for i, count := range b.Exam.Guesses {
			of, as := i/len(b.Exam.Classes), i%len(b.Exam.Classes)
			t.add(b.Exam.Classes[of].Name, b.Exam.Classes[as].Name, count, of == as)
		}
	}
	return []table{t}
}

// Epoch and Round are the round after which the model is.
func (b modelPage) Epoch() uint64 { return b.At.Epoch }
func (b modelPage) Round() uint64 { return b.At.Round }

// className returns the name of a class. For square pictures in ten classes it is the digit, as in MNIST.
func className(m params.Model, class int) string {
	side := uint32(math.Round(math.Sqrt(float64(m.Inputs))))
	pictures := m.Features.Name == params.FeaturesStrokes || m.Table == nil && side*side == m.Inputs
	if pictures && m.Classes == 10 {
		return fmt.Sprintf("digit %d", class)
	}
	return fmt.Sprintf("class %d", class)
}
