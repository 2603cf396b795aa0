package pages

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/privacy/accountant"
)

// A chart is a line chart of one quantity by round. Its y axis ends at a round number or a given bound, and begins at
// 0. For shares that are all high, the axis begins at a round share below the smallest, because otherwise the last
// rounds of a training look alike; the legend then names that share.
type chart struct {
	Name, Title  string
	Unit         string // "%" shows shares as per cent, spentUnit values as epsilon
	CSV          string // address of the values; "" if there is none
	Across       string // what the x axis counts
	Bound        *tick  // a bound of the values, or what guessing gives; nil for none
	Legend       string
	Points, Area string // of a polyline, and of the polygon below it
	Ticks        []tick // of the y axis
	Rounds       []tick // of the x axis
	Lines        []line // of a chart with a line for each participant
	Keys         []line // those with a name
	dots         []dot
	guess        *float64 // the value that guessing gives; nil if it is unknown
	from, until  uint64   // rounds of the frame
	base, top    float64  // values of its lower and its upper edge
}

// A line is the line of one participant in a chart of several.
type line struct {
	Points string
	Class  string // the CSS class of the participant's alarm
	Look   int    // named lines have colours and dashes of their own, from 0 on
	Name   string // in the key; most lines of a crowd have none
	dots   []dot
}

type dot struct {
	round uint64
	value float64
}

// tick is a mark on an axis, in pixels from the left or the top.
type tick struct {
	At    float64
	Label string
}

// The size of a chart's picture, and of the frame in it.
const chartWidth, chartHeight, frameLeft, frameRight, frameTop, frameBottom = 320, 170, 44.0, 296.0, 10.0, 140.0

// Width and Height are the size of the picture; Left, Right and Bottom are the edges of the frame.
func (chart) Width() int      { return chartWidth }
func (chart) Height() int     { return chartHeight }
func (chart) Left() float64   { return frameLeft }
func (chart) Right() float64  { return frameRight }
func (chart) Bottom() float64 { return frameBottom }

// Guessed reports whether the bound is what guessing gives.
func (c chart) Guessed() bool { return c.guess != nil }

// chartOf draws one quantity of the points that have it. The y axis ends at top, or at a round number above the
// largest value if that is larger. The page at the given address has the values as CSV.
func chartOf(page, name, title, unit string, top float64, points []chainview.Point,
	of func(chainview.Point) *float64, guess *float64) chart {
	c := chart{Name: name, Title: title, Unit: unit, Across: "round", guess: guess,
		CSV: strings.TrimSuffix(page, "/") + "/" + name + ".csv"}
	for _, p := range points {
		if y := of(p); y != nil {
			c.dots = append(c.dots, dot{p.Round, *y})
		}
	}
	if len(c.dots) >= 2 {
		c.one(points[0].Round, points[len(points)-1].Round, top)
	}
	return c
}

// one draws the chart's own values, of which there are at least two, as one line, and describes them in the legend.
func (c *chart) one(from, until uint64, top float64) {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, d := range c.dots {
		lowest, highest = min(lowest, d.value), max(highest, d.value)
	}
	bound := top
	if !(highest <= top) {
		top = roundUp(highest)
	}
	if c.Unit == "%" {
		c.base = shareBelow(lowest)
	}
	c.axes(from, until, top)
	c.Points = c.polyline(c.dots)
	c.Area = fmt.Sprintf("%.1f,%[2]g %s %.1f,%[2]g", c.across(c.dots[0].round), frameBottom, c.Points,
		c.across(c.dots[len(c.dots)-1].round))
	switch {
	case c.Unit == spentUnit && bound > 0:
		c.Bound = &tick{c.up(bound), "budget " + c.label(bound)}
	case c.guess != nil && *c.guess >= c.base && *c.guess <= top:
		c.Bound = &tick{c.up(*c.guess), "guessing " + c.label(*c.guess)}
	}
	first, last := c.dots[0], c.dots[len(c.dots)-1]
	c.Legend = fmt.Sprintf("%s after round %d; between %s and %s since round %d", c.text(last.value), last.round,
		c.text(lowest), c.text(highest), first.round)
	if first.round > from {
		c.Legend += ", before which it is not known"
	}
	if c.base > 0 {
		c.Legend += "; the axis begins at " + c.label(c.base)
	}
}

// axes sets the frame and its marks. The x axis has all rounds from one to another, so that charts of the
// same rounds have the same axis, whichever of them have a value.
func (c *chart) axes(from, until uint64, top float64) {
	c.from, c.until, c.top = from, until, top
	for k := range 5 {
		share := float64(k) / 4
		c.Ticks = append(c.Ticks, tick{frameBottom - (frameBottom-frameTop)*share, c.label(c.base + (top-c.base)*share)})
	}
	for _, round := range []uint64{from, (from + until) / 2, until} {
		if n := len(c.Rounds); n == 0 || c.across(round)-c.Rounds[n-1].At > 30 {
			c.Rounds = append(c.Rounds, tick{c.across(round), strconv.FormatUint(round, 10)})
		}
	}
}

// across and up return the position of a round and of a value, in pixels.
func (c *chart) across(round uint64) float64 {
	return frameLeft + (frameRight-frameLeft)*float64(round-c.from)/max(1, float64(c.until-c.from))
}

func (c *chart) up(value float64) float64 {
	return frameBottom - (frameBottom-frameTop)*min(1, max(0, (value-c.base)/(c.top-c.base)))
}

func (c *chart) polyline(dots []dot) string {
	var b strings.Builder
	for _, d := range dots {
		fmt.Fprintf(&b, "%.1f,%.1f ", c.across(d.round), c.up(d.value))
	}
	return strings.TrimSpace(b.String())
}

// label returns a value of an axis.
func (c *chart) label(x float64) string {
	if c.Unit == "%" {
		return fmt.Sprintf("%.4g %%", 100*x)
	}
	return fmt.Sprintf("%.3g", x)
}

// spentUnit is the unit of a chart of epsilon.
const spentUnit = "epsilon"

// text returns a value in the chart's unit.
func (c *chart) text(x float64) string {
	switch c.Unit {
	case "%":
		return fmt.Sprintf("%.4g %%", 100*x)
	case spentUnit:
		return accountant.Text(x)
	}
	return fmt.Sprintf("%.4g", x)
}

// roundUp returns the smallest of 1, 2, 4, 8 and 10 times a power of ten that is at least x. It
// returns 1 if x is not above 0.
func roundUp(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, k := range []float64{1, 2, 4, 8} {
		if x <= k*unit {
			return k * unit
		}
	}
	return 10 * unit
}

// shareBelow returns the greatest of a few round shares that is below x, or 0 if all are above.
func shareBelow(x float64) float64 {
	below := 0.0
	for _, share := range []float64{0.2, 0.4, 0.6, 0.8, 0.9, 0.96} {
		if share < x {
			below = share
		}
	}
	return below
}

// table returns the values.
func (c chart) table() table {
	t := table{name: c.Name, header: []string{"round", c.Name}}
	for _, d := range c.dots {
		t.add(d.round, d.value)
	}
	return t
}

// charts are what is known of a training by round: its test accuracy with what stands beside it, and epsilon.
type charts []chart

// chartsOf draws the charts of rounds. One without two values has no points.
func chartsOf(points []chainview.Point, budget float64) (out charts) {
	of := func(part func(*evaluate.Quality) *float64) func(chainview.Point) *float64 {
		return func(p chainview.Point) *float64 {
			if q := p.Quality(); q != nil {
				return part(q)
			}
			return nil
		}
	}
	var guess, half, rate *float64 // what guessing gives
	rare := ""
	if last := lastMeasured(points); last != nil && last.Beside != nil {
		guess, rare = &last.Beside.Majority, last.Beside.Class
		half, rate = new(float64), new(float64)
		*half, *rate = 0.5, *guess*(1-*guess)
	}
	for _, c := range []struct {
		name, title, unit string
		top               float64
		of                func(chainview.Point) *float64
		guess             *float64
	}{
		{"accuracy", "Test accuracy", "%", 1, func(p chainview.Point) *float64 { return p.Accuracy }, guess},
		{"auc", "Test AUC", "", 1, of(func(q *evaluate.Quality) *float64 { return &q.AUC }), half},
		{"recall", "Recall of " + rare, "%", 1, func(p chainview.Point) *float64 {
			if p.Quality() == nil {
				return nil
			}
			return &p.Beside.Recall
		}, nil},
		{"brier", "Test Brier score", "", 0, of(func(q *evaluate.Quality) *float64 { return &q.Brier }), rate},
		{"loss", "Test loss in nats", "", 0, func(p chainview.Point) *float64 { return p.Loss }, nil},
		{"epsilon", "Epsilon spent", spentUnit, budget, func(p chainview.Point) *float64 { return p.Epsilon }, nil},
	} {
		out = append(out, chartOf("/training", c.name, c.title, c.unit, c.top, points, c.of, c.guess))
	}
	return out
}

// Since returns the first round with an accuracy, 0 if there is none.
func (all charts) Since() uint64 {
	if len(all[0].dots) == 0 {
		return 0
	}
	return all[0].dots[0].round
}

func (all charts) tables() (out []table) {
	for _, c := range all {
		out = append(out, c.table())
	}
	return out
}
