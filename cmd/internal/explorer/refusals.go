package explorer

import (
	"context"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"

	"github.com/spdl/spdl/app/params"
)

// refusals asks the node for the gradients that it rejected: those of a round, or for "" all that
// it remembers. A node of an earlier release does not know the query.
func (s *source) refusals(ctx context.Context, of string) ([]query.Rejection, error) {
	path := "/refusals"
	if of != "" {
		path += "/" + of
	}
	return known[[]query.Rejection](ctx, s, path)
}

// refusals marks the participants whose gradients the node rejected. It leaves out participants
// with an included gradient, because the rejected gradient was then another one, or came at another
// time.
func (t *tail) refusals(ctx context.Context, points []chainview.Point) {
	if len(points) == 0 {
		return
	}
	of := ""
	if len(points) == 1 {
		of = params.RoundID{Epoch: points[0].Epoch, Round: points[0].Round}.String()
	}
	all, err := t.source.refusals(ctx, of)
	if err != nil {
		return
	}
	chainview.Reject(points, all)
}
