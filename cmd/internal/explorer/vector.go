package explorer

import (
	"context"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// A vector is what a page says of a gradient: its size, its direction, and its coordinates.
type vector struct {
	Coordinates, Zero, Ends int      // number of all, of those that are 0, and of those at the ends of the range
	Steps                   float64  // Euclidean norm in grid steps
	Norm                    float64  // the same in units of the gradient
	Angle                   *float64 // to Delta, in degrees; nil if Delta cannot be computed
}

// Away reports whether the angle to Delta is above 90 degrees.
func (v vector) Away() bool { return v.Angle != nil && *v.Angle > 90 }

// vectorOf returns what a page says of a gradient of the running epoch. For a gradient of another epoch,
// whose shape the explorer does not know, it returns nil.
func (s *Server) vectorOf(ctx context.Context, g *tx.Gradient) *vector {
	status, running, _, err := s.tail.now()
	if err != nil || g.Epoch != status.Epoch {
		return nil
	}
	v, err := gradients.Decode(gradients.Width(running.Grid.Width), running.Model.Dim(), g.Payload)
	if err != nil {
		return nil
	}
	out := &vector{Coordinates: v.Len(), Steps: math.Sqrt(float64(v.SquaredNorm())), Angle: s.angleTo(ctx, g)}
	for i := range v.Len() {
		switch most := v.Width().Max(); v.At(i) {
		case 0:
			out.Zero++
		case most, -most:
			out.Ends++
		}
	}
	out.Norm = out.Steps * running.Grid.Step
	return out
}

// angleTo returns the angle between an included gradient and Delta in degrees, nil if Delta is not
// known.
func (s *Server) angleTo(ctx context.Context, g *tx.Gradient) *float64 {
	record, err := s.source.record(ctx, params.RoundID{Epoch: g.Epoch, Round: g.Round})
	if err != nil {
		return nil
	}
	form, err := s.shape(ctx, record)
	if err != nil {
		return nil
	}
	return form.angle(g.Participant)
}
