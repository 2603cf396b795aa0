package testnet

import (
	"context"
	"errors"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/trainer"
	"github.com/spdl/spdl/mnist/evaluate"
	"github.com/spdl/spdl/mnist/model"
)

// Evaluator measures the models of a net.
type Evaluator interface {
	Evaluate(parameters []float64) (model.Eval, error)
}

// Evaluator returns what measures the net's models, and what ends it: the test set of its data or,
// for an external model, a trainer of its own. It is nil where nothing is to be measured, or the
// trainer does not evaluate.
func (n *Net) Evaluator(ctx context.Context, measure bool) (Evaluator, func(), error) {
	p := n.Genesis.Params
	if !measure {
		return nil, func() {}, nil
	}
	if p.Model.Kind != params.ModelExternal {
		test, err := node.LoadTest(n.Manifest.Data, p.Model)
		if err != nil {
			return nil, nil, err
		}
		e, err := evaluate.New(test, p.Model)
		return e, func() {}, err
	}
	t, err := trainer.Start(ctx, node.TrainerOf(n.Nodes[0].home.Config, n.Nodes[0].app.Worker, nil), p.Model, p.Privacy.Clip)
	if err != nil {
		return nil, nil, err
	}
	if _, err := t.Evaluate(ctx, make([]float64, p.Model.Dim())); errors.Is(err, trainer.ErrUnmeasured) {
		t.Close()
		return nil, func() {}, nil
	}
	return trained{ctx, t}, t.Close, nil
}

// trained is an Evaluator by a trainer.
type trained struct {
	ctx     context.Context
	program *trainer.Trainer
}

func (t trained) Evaluate(parameters []float64) (model.Eval, error) {
	e, err := t.program.Evaluate(t.ctx, parameters)
	return model.Eval{Loss: e.Loss, Accuracy: e.Accuracy}, err
}
