package explorer

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
