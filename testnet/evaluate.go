package testnet

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// Evaluator measures models under a chain's parameters.
type Evaluator interface {
	Evaluate(ctx context.Context, p params.Params, x []float64) (model.Eval, error)
}

// Evaluator returns an evaluator of the net's models: on the test set of its data or, for an external model, by a
// trainer of its own. It returns an error if that trainer does not start. The caller closes the evaluator.
func (n *Net) Evaluator(ctx context.Context) (*home.Evaluator, error) {
	first := n.Nodes[0]
	w := first.app.Worker
	w.Data = n.Manifest.Data
	e := home.EvaluatorOf(first.home.Config, w)
	p := n.Genesis.Params
	if p.Model.Kind != params.ModelExternal {
		return e, nil
	}
	if _, err := e.Evaluate(ctx, p, make([]float64, p.Model.Dim())); err != nil && !home.IsUnmeasurable(err) {
		e.Close()
		return nil, fmt.Errorf("the net's own trainer, which measures accuracy: %w", err)
	}
	return e, nil
}
