package audit_test

import (
	"context"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit/audittest"
)

type (
	chain  = audittest.Chain
	memory = audittest.Source
)

var (
	newChain = audittest.New
	began    = audittest.Began
)

// witness is a node that computed something else.
type witness struct {
	*memory
	change func(*app.Record)
}

func (w witness) Record(_ context.Context, _, round uint64) (*app.Record, error) {
	data, err := w.Of.Records[round].Marshal()
	if err != nil {
		return nil, err
	}
	r := new(app.Record)
	if err := r.Unmarshal(data); err != nil {
		return nil, err
	}
	w.change(r)
	return r, nil
}

func (w witness) State(context.Context) (*app.State, error) { return w.Of.State, nil }
