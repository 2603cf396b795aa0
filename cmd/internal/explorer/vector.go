package explorer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"

	"github.com/spdl/spdl/app/params"
)

// bins is the approximate number of bars of a histogram, and pictured the width of its picture.
const bins, pictured = 33, 520

// A vector is what a page shows of a gradient: its size, its direction, and a histogram of its
// coordinates.
type vector struct {
	Coordinates, Zero, Ends int      // number of all, of those that are 0, and of those at the ends of the range
	Steps                   float64  // Euclidean norm in grid steps
	Norm                    float64  // the same in units of the gradient
	Max                     int64    // the largest coordinate, without its sign
	Angle                   *float64 // to Delta, in degrees; nil if Delta cannot be computed
	Bars                    []vectorBar
}

// Away reports whether the angle to Delta is above 90 degrees.
func (v vector) Away() bool { return v.Angle != nil && *v.Angle > 90 }

// A vectorBar is a bar of the histogram, in a picture of 520 by 100.
type vectorBar struct {
	X, Y, Width, Height float64
	From, Until         int64 // grid steps
	Count               int
}

// vectorOf returns the picture of a gradient of the running epoch. For a gradient of another epoch,
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
	out := histogram(v)
	out.Norm = out.Steps * running.Grid.Step
	out.Angle = s.angleTo(ctx, g)
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

// histogram counts the coordinates of a vector, in bars of the same odd number of grid steps around 0.
func histogram(v gradients.Vector) *vector {
	most := v.Width().Max()
	out := &vector{Coordinates: v.Len(), Max: 1}
	squares := 0.0
	for i := range v.Len() {
		x := v.At(i)
		squares += float64(x) * float64(x)
		switch x {
		case 0:
			out.Zero++
		case most, -most:
			out.Ends++
		}
		out.Max = max(out.Max, x, -x)
	}
	out.Steps = math.Sqrt(squares)
	width := 1 + 2*(out.Max/bins)                   // of a bar
	side := (out.Max - width/2 + width - 1) / width // bars on each side of the middle one
	out.Bars = make([]vectorBar, 2*side+1)
	for i := range v.Len() {
		out.Bars[(v.At(i)+side*width+width/2)/width].Count++
	}
	highest := slices.MaxFunc(out.Bars, func(a, b vectorBar) int { return cmp.Compare(a.Count, b.Count) }).Count
	for i := range out.Bars {
		b := &out.Bars[i]
		b.From = (int64(i)-side)*width - width/2
		b.Until = min(out.Max, b.From+width-1)
		b.From = max(-out.Max, b.From)
		b.Width = pictured / float64(len(out.Bars))
		b.X, b.Height = float64(i)*b.Width, 100*float64(b.Count)/float64(max(1, highest))
		b.Y = 100 - b.Height
	}
	return out
}
