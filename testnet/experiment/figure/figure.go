// Package figure draws the figures of an experiment as SVG, and writes their provenance
// into the files. It does not depend on learning or on chains.
package figure

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a title, panels in rows of at most two, and one legend; maps are one below the other. A
// name has the same colour, dash and mark in all panels. Dashes and marks differ, so that a line is
// visible under another line that covers it.
type Figure struct {
	Title  string
	Panels []Panel
	Foot   string // small print below the drawing; "" for none
}

// perRow is the number of panels side by side.
const perRow = 2

// Panel is one pair of axes with a map, stacked bars or lines: the first of these that is set.
type Panel struct {
	Title, X, Y string
	Top         float64 // of the y axis; 0 fits it to the data
	Log         bool    // the y axis is logarithmic; values not above 0 are left out
	Marks       []Mark  // of the x axis; nil for round numbers
	Lines       []Line
	Bars        *Bars
	Map         *Map
}

// Mark is a position on an axis with its text. A logarithmic axis needs marks to show the numbers themselves.
type Mark struct {
	At   float64
	Text string
}

// Line is a series with a band from Low to High, which may be nil.
type Line struct {
	Name         string
	Colour       string // lines of one colour; "" for the name's own
	X, Y         []float64
	Low, High    []float64
	Dashed, Dots bool
}

// Bars are stacks over categories: Values[s][c] is the height of stack s over category c, none if it is not finite.
type Bars struct {
	Categories, Stacks []string
	Values             [][]float64
}

// palette is Okabe and Ito's palette, whose colours colour-blind people can tell apart.
var palette = []color.NRGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255}, {160, 130, 0, 255},
	{120, 60, 160, 255}, {0, 0, 0, 255},
}

// The size of a panel.
const panelWidth, panelHeight = 340, 280 // points

// rows returns the number of rows of panels.
func (f Figure) rows() int { return (len(f.Panels) + f.columns() - 1) / f.columns() }

// columns returns the number of panels in a row.
func (f Figure) columns() int {
	if slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.Map != nil }) {
		return 1
	}
	return min(perRow, len(f.Panels))
}

// size returns the width and the height of the figure, in points. A map is wider, because it shows names.
func (f Figure) size() (w, h vg.Length) {
	var pw, ph vg.Length
	for _, p := range f.Panels {
		w, h := vg.Length(panelWidth), vg.Length(panelHeight)
		if p.Map != nil {
			w = vg.Length(160 + 34*len(p.Map.Columns))
			h = vg.Length(150 + 20*len(p.Map.Rows))
		}
		pw, ph = max(pw, w), max(ph, h)
	}
	return pw * vg.Length(f.columns()), ph * vg.Length(f.rows())
}

// Draw returns the figure as SVG, with its provenance.
func (f Figure) Draw(provenance []Note) (svg []byte, err error) {
	if len(f.Panels) == 0 {
		return nil, fmt.Errorf("figure %q has no panels", f.Title)
	}
	plots := make([][]*plot.Plot, f.rows())
	for i := range plots {
		plots[i] = make([]*plot.Plot, f.columns())
	}
	var keys legend
	for i, p := range f.Panels {
		if plots[i/f.columns()][i%f.columns()], err = p.plot(&keys); err != nil {
			return nil, fmt.Errorf("%s, panel %q: %w", f.Title, p.Title, err)
		}
	}
	w, h := f.size()
	strip := keys.height(w)
	if f.Foot != "" {
		strip += footHeight
	}
	if f.Title != "" {
		h += titleHeight
	}
	vector := vgsvg.New(w, h+strip)
	f.paint(plots, &keys, strip, draw.New(vector))
	var out bytes.Buffer
	if _, err = vector.WriteTo(&out); err != nil {
		return nil, err
	}
	return noteSVG(out.Bytes(), provenance), nil
}

// The heights of the title and of the small print.
const titleHeight, footHeight = 24, 14 // points

// paint places the panels below the title, and above a strip with the legend and the small print.
func (f Figure) paint(plots [][]*plot.Plot, keys *legend, strip vg.Length, c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
	if f.Title != "" {
		head := plot.New().Title.TextStyle
		head.Font.Size, head.XAlign, head.YAlign = 14, draw.XCenter, draw.YTop
		c.FillText(head, vg.Point{X: c.Center().X, Y: c.Max.Y - 6}, f.Title)
	}
	if f.Foot != "" {
		small := plot.New().Title.TextStyle
		small.Font.Size, small.Color, small.XAlign, small.YAlign = 9, color.Gray{110}, draw.XLeft, draw.YBottom
		c.FillText(small, vg.Point{X: 10, Y: 4}, f.Foot)
	}
	keys.draw(draw.Crop(c, 0, 0, 0, strip-c.Size().Y))
	c = draw.Crop(c, 0, 0, strip, 0)
	if f.Title != "" {
		c = draw.Crop(c, 0, 0, 0, -titleHeight)
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: len(plots[0]), PadX: 14, PadY: 12, PadTop: 4, PadBottom: 4, PadLeft: 4,
		PadRight: 8}
	for r, line := range plot.Align(plots, tiles, c) {
		for i, canvas := range line {
			if plots[r][i] != nil {
				plots[r][i].Draw(canvas)
			}
		}
	}
}

func (p Panel) plot(keys *legend) (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.Title, p.X, p.Y
	out.Title.TextStyle.Font.Size, out.Title.Padding = 12, 6
	var err error
	switch {
	case p.Map != nil:
		return out, p.Map.add(out)
	case p.Bars != nil:
		err = p.Bars.add(out, keys)
	default:
		out.Add(grid())
		for _, l := range p.Lines {
			if err = l.add(out, keys, p.shows); err != nil {
				return nil, err
			}
		}
	}
	mark(&out.X, p.Marks)
	if p.Log {
		logarithmic(&out.Y)
		return out, err
	}
	out.Y.Min = math.Min(0, out.Y.Min)
	if p.Top > 0 {
		out.Y.Max = p.Top
	}
	return out, err
}

// mark gives an axis its marks. Without marks the axis keeps round numbers.
func mark(axis *plot.Axis, marks []Mark) {
	if marks == nil {
		return
	}
	var ticks []plot.Tick
	for _, m := range marks {
		ticks = append(ticks, plot.Tick{Value: m.At, Label: m.Text})
	}
	axis.Tick.Marker = plot.ConstantTicks(ticks)
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{235}, color.Gray{225}
	return g
}

// shows reports whether a point with that ordinate can be drawn.
func (p Panel) shows(y float64) bool { return finite(y) && (!p.Log || y > 0) }

// logarithmic gives an axis whole powers of ten. An axis without points stays linear.
func logarithmic(y *plot.Axis) {
	if !finite(y.Min) || !finite(y.Max) {
		return
	}
	least, greatest := math.Floor(math.Log10(y.Min)), math.Ceil(math.Log10(y.Max))
	y.Min, y.Max = math.Pow(10, least), math.Pow(10, max(greatest, least+1))
	y.Scale, y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// add draws the band, and over it the line, through the points that the panel shows.
func (l Line) add(out *plot.Plot, keys *legend, shows func(y float64) bool) error {
	look := keys.look(cmp.Or(l.Colour, l.Name))
	c := look.colour
	through := func(ys []float64) (points plotter.XYs) {
		for i, y := range ys {
			if shows(y) {
				points = append(points, plotter.XY{X: l.X[i], Y: y})
			}
		}
		return points
	}
	points := through(l.Y)
	if len(points) == 0 {
		return nil
	}
	if l.Low != nil {
		low := through(l.Low)
		slices.Reverse(low)
		band, err := plotter.NewPolygon(append(through(l.High), low...))
		if err != nil {
			return err
		}
		band.Width = 0
		band.Color = color.NRGBA{c.R, c.G, c.B, 40}
		out.Add(band)
		keys.banded = true
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, 1.6
	switch {
	case l.Dashed:
		line.Dashes = []vg.Length{4, 3}
	case l.Colour == "":
		line.Dashes = look.dashes
	}
	if !l.Dots {
		points = look.some(points)
	}
	marks, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	marks.Color, marks.Radius, marks.Shape = c, 3, look.mark
	out.Add(line, marks)
	keys.show(l.Name, line, marks)
	return nil
}

func (b *Bars) add(out *plot.Plot, keys *legend) error {
	var below *plotter.BarChart
	for s, name := range b.Stacks {
		heights := slices.Clone(b.Values[s])
		for c, height := range heights {
			if !finite(height) { // as of a part of rounds that none of a short run measured
				heights[c] = 0
			}
		}
		bars, err := plotter.NewBarChart(plotter.Values(heights), 34)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = keys.look(name).colour, 0
		if below != nil {
			bars.StackOn(below)
		}
		out.Add(bars)
		keys.show(name, bars)
		below = bars
	}
	out.NominalX(b.Categories...)
	out.X.Min, out.X.Max = -.6, float64(len(b.Categories))-.4
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
