package explorer

import "fmt"

// A heatmap shows the fate of each participant's gradient in the last rounds: a row per participant
// and a column per round, the oldest on the left. Colour and sign carry the same information.
type heatmap struct {
	Width, Height int // of the cells, with the axis below
	Rows          []heatRow
	Columns       []heatColumn
}

type heatRow struct {
	Standing Standing
	Y        int
}

// heatColumn is a round. Label is the number below it; most columns have none.
type heatColumn struct {
	Round Point
	X     int
	Label string
	Cells []cell
}

type cell struct {
	Y     int
	Class string // offence, opposed, refused, absent, left-out, small, selected: the first that holds
	Fate  string // as in a verdict
	Sign  string
	Lead  string // the sign of a leader, if another sign is in the middle of the cell
	Title string
}

// cellSize is the side of a cell in pixels, axisStep the number of rounds between two labels.
const cellSize, axisStep = 18, 5

// AxisY is where the labels of the rounds are.
func (h heatmap) AxisY() int { return h.Height - 6 }

// signs maps each class of a cell to its sign.
var signs = map[string]string{LeftOut: "–", "opposed": "✕", "offence": "✕", Absent: "·", Refused: "!",
	"small": "~"}

// heatmapOf returns the heatmap of participants and of rounds, which are given oldest first.
func heatmapOf(points []Point, all []Standing) heatmap {
	h := heatmap{Width: cellSize*len(points) + 12}
	for _, st := range all {
		if st.Active || st.Rounds > 0 {
			h.Rows = append(h.Rows, heatRow{st, cellSize * len(h.Rows)})
		}
	}
	for i, p := range points {
		c := heatColumn{Round: p, X: cellSize * i}
		if p.Round%axisStep == 0 || len(points) < axisStep {
			c.Label = fmt.Sprint(p.Round)
		}
		for _, row := range h.Rows {
			c.Cells = append(c.Cells, cellOf(p, row))
		}
		h.Columns = append(h.Columns, c)
	}
	h.Height = cellSize*len(h.Rows) + 22
	return h
}

func (h heatmap) table() table {
	t := table{name: "fates", header: []string{"round", "participant", "fate", "weight", "opposed", "offence", "leader",
		"failed_to_lead"}}
	for _, c := range h.Columns {
		for i, cell := range c.Cells {
			who := h.Rows[i].Standing.Participant
			t.add(c.Round.Round, who, cell.Fate, c.Round.weight(who), has(c.Round.Opposed, who) > 0,
				has(c.Round.Offenders, who) > 0, c.Round.Leader == who, has(c.Round.Passed, who) > 0)
		}
	}
	return t
}

func cellOf(p Point, row heatRow) cell {
	who := row.Standing.Participant
	v := Verdict{Fate: Selected, Weight: p.weight(who), Opposed: has(p.Opposed, who) > 0,
		Offence: has(p.Offenders, who) > 0}
	word := "selected" + v.WeightNote()
	switch {
	case has(p.Refused, who) > 0:
		v.Fate, word = Refused, "rejected"
	case has(p.included, who) == 0:
		v.Fate, word = Absent, "absent"
	case has(p.LeftOut, who) > 0:
		v.Fate, word = LeftOut, "left out"
	}
	c := cell{Y: row.Y, Class: classOf(v), Fate: v.Fate}
	if v.Opposed {
		word += ", opposed"
	}
	if v.Offence {
		c.Class = "offence"
		word += ", proven offence"
	}
	c.Sign = signs[c.Class]
	c.Title = fmt.Sprintf("round %d, #%d: %s", p.Round, who, word)
	switch {
	case p.Leader == who:
		c.Title += ", leader"
		c.Lead = "★"
	case has(p.Passed, who) > 0:
		c.Title += ", failed to lead"
		c.Lead = "↷"
	}
	if c.Sign == "" {
		c.Sign, c.Lead = c.Lead, ""
	}
	return c
}
