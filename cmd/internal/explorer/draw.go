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

// A grid shows the results of the last rounds, with a row per participant and a column per round,
// the newest first: if it does not fit, the oldest rounds are cut off. Colour and sign carry the
// same information.
type grid struct {
	Width, Height int
	Rows          []gridRow
	Columns       []uint64 // rounds
	Size          int
}

type gridRow struct {
	Standing Standing
	Y        int
	Cells    []cell
}

type cell struct {
	X, Y   int
	Round  Point
	Class  string // selected, left-out, opposed, refused, absent
	Sign   string
	Leader bool
	Passed bool
}

// signs are the marks of the fates.
var signs = map[string]string{Selected: "", LeftOut: "–", "opposed": "✕", Absent: "·", Refused: "!", NotYet: ""}

// gridOf returns the grid of rounds, given oldest first, and participants.
func gridOf(points []Point, all []Standing) grid {
	const size, label = 18, 190
	g := grid{Width: label + size*len(points), Size: size}
	for _, p := range points {
		g.Columns = append(g.Columns, p.Round)
	}
	for _, st := range all {
		if !st.Active && st.Rounds == 0 {
			continue
		}
		row := gridRow{Standing: st, Y: size * len(g.Rows)}
		for i, p := range points {
			c := cell{X: label + size*(len(points)-1-i), Y: row.Y, Round: p, Class: Selected, Leader: p.Leader == st.Participant,
				Passed: has(p.Passed, st.Participant) > 0}
			switch {
			case has(p.Refused, st.Participant) > 0:
				c.Class = Refused
			case has(p.included, st.Participant) == 0:
				c.Class = Absent
			case has(p.Opposed, st.Participant) > 0:
				c.Class = "opposed"
			case has(p.LeftOut, st.Participant) > 0:
				c.Class = LeftOut
			}
			c.Sign = signs[c.Class]
			row.Cells = append(row.Cells, c)
		}
		g.Rows = append(g.Rows, row)
	}
	g.Height = size*len(g.Rows) + 2
	return g
}
