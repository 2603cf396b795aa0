package explorer

import (
	"fmt"
	"math"
	"strings"
)

// A spark is a small line chart: the points of a polyline, and its text.
type spark struct {
	Name           string
	Points         string // of a polyline
	Area           string // points of the polygon below it
	Width, Height  int
	First, Last    float64
	Lowest, Uppest float64
	Count          int
	From, Until    uint64 // rounds
}

// Across and Down return the size of the picture, with the labels of its axes.
func (s spark) Across() int { return s.Width + 62 }
func (s spark) Down() int   { return s.Height + 22 }

// sparkOf draws one figure of the points that have it.
func sparkOf(name string, points []Point, of func(Point) *float64) spark {
	s := spark{Name: name, Width: 300, Height: 110, Lowest: math.Inf(1), Uppest: math.Inf(-1)}
	type dot struct{ x, y float64 }
	var dots []dot
	for _, p := range points {
		y := of(p)
		if y == nil {
			continue
		}
		if len(dots) == 0 {
			s.First, s.From = *y, p.Round
		}
		s.Last, s.Until = *y, p.Round
		s.Lowest, s.Uppest = min(s.Lowest, *y), max(s.Uppest, *y)
		dots = append(dots, dot{float64(p.Round), *y})
	}
	if s.Count = len(dots); s.Count < 2 {
		return s
	}
	const margin = 3.0
	wide, high := float64(s.Width)-2*margin, float64(s.Height)-2*margin
	var b strings.Builder
	for _, d := range dots {
		x := margin + wide*(d.x-dots[0].x)/max(1, dots[len(dots)-1].x-dots[0].x)
		y := margin + high/2
		if s.Uppest > s.Lowest {
			y = margin + high*(s.Uppest-d.y)/(s.Uppest-s.Lowest)
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
	}
	s.Points = strings.TrimSpace(b.String())
	s.Area = fmt.Sprintf("%.1f,%d %s %.1f,%[2]d", margin, s.Height, s.Points, margin+wide)
	return s
}
