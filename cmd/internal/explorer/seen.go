package explorer

import (
	"context"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// seen asks the node what it saw of a closed round.
func (s *Server) seen(ctx context.Context, r *app.Record) chainview.Witness {
	at := params.RoundID{Epoch: r.Epoch, Round: r.Round}
	_, running, points, _ := s.tail.now()
	x := chainview.Witness{Election: running.Election, Points: points}
	x.Rejections, _ = s.source.refusals(ctx, at.String())
	list, err := known[[]query.Attempt](ctx, s.source, "/attempts/"+at.String())
	x.Attempts, x.Attended = list, err == nil
	return x
}
