package explorer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// bins is about the number of bars of a histogram, pictured the width of its picture.
const bins, pictured = 33, 330

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

// A vectorBar is a bar of the histogram, in a picture of 330 by 100.
type vectorBar struct {
	X, Y, Width, Height float64
	From, Until         int64 // grid steps
	Count               int
}

// vectorOf returns the picture of a gradient of the running epoch, nil for one of another epoch, whose
// shape the explorer does not know.
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
	if delta := s.deltaOf(ctx, running, place{g.Epoch, g.Round}); len(delta) == v.Len() {
		out.Angle = angle(v, delta)
	}
	return out
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

// angle returns the angle between two vectors in degrees, nil if one of them is 0.
func angle(v gradients.Vector, delta []float64) *float64 {
	var product, a, b float64
	for i, y := range delta {
		x := float64(v.At(i))
		product, a, b = product+x*y, a+x*x, b+y*y
	}
	if a == 0 || b == 0 {
		return nil
	}
	return finite(180 / math.Pi * math.Acos(max(-1, min(1, product/math.Sqrt(a*b)))))
}

// deltaOf returns Delta of a round of the running epoch, up to rounding and in units of the gradient.
// Transactions have its digest only: it follows from the models before and after the round, by
// the update x' = x - rate*v', v' = momentum*v + Delta + decay*x. It returns nil if the node does not
// have these models, as before the first rounds.
func (s *Server) deltaOf(ctx context.Context, p params.Params, at place) []float64 {
	t := p.Training
	if at.round == 0 || t.LearningRate == 0 {
		return nil
	}
	after, before := s.parameters(ctx, at), s.parameters(ctx, place{at.epoch, at.round - 1})
	if after == nil || len(before) != len(after) {
		return nil
	}
	earlier := before
	if t.Momentum != 0 {
		if at.round < 2 {
			return nil
		}
		if earlier = s.parameters(ctx, place{at.epoch, at.round - 2}); len(earlier) != len(after) {
			return nil
		}
	}
	delta := make([]float64, len(after))
	for i, x := range before {
		delta[i] = (x-after[i])/t.LearningRate - t.Momentum*(earlier[i]-x)/t.LearningRate - t.WeightDecay*x
	}
	return delta
}

// parameters returns the parameters after a round, nil if the node does not have them.
func (s *Server) parameters(ctx context.Context, after place) []float64 {
	m, err := s.source.model(ctx, after)
	if err != nil {
		return nil
	}
	x, err := app.DecodeParameters(m.Parameters)
	if err != nil {
		return nil
	}
	return x
}
