package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Map is a table of coloured shares: Values[r][c], NaN for none. Rows are drawn from the top.
type Map struct {
	Rows, Columns []string
	Values        [][]float64
}

// add draws the cells, each with its number.
func (m *Map) add(out *plot.Plot) error {
	top := len(m.Rows) - 1
	var cells plotter.XYLabels
	var shades []color.NRGBA
	for r, row := range m.Values {
		for c, v := range row {
			if !finite(v) {
				continue
			}
			x, y := float64(c), float64(top-r)
			box, err := plotter.NewPolygon(plotter.XYs{{X: x - .5, Y: y - .5}, {X: x + .5, Y: y - .5}, {X: x + .5, Y: y + .5},
				{X: x - .5, Y: y + .5}})
			if err != nil {
				return err
			}
			shades = append(shades, shade(v))
			box.Width, box.Color = 0, shades[len(shades)-1]
			out.Add(box)
			cells.XYs = append(cells.XYs, plotter.XY{X: x, Y: y})
			cells.Labels = append(cells.Labels, fmt.Sprintf("%.1f", 100*v))
		}
	}
	if len(cells.XYs) > 0 {
		numbers, err := plotter.NewLabels(cells)
		if err != nil {
			return err
		}
		for i := range numbers.TextStyle {
			numbers.TextStyle[i].XAlign, numbers.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
			numbers.TextStyle[i].Font.Size = font.Length(9)
			if dark(shades[i]) {
				numbers.TextStyle[i].Color = color.White
			}
		}
		out.Add(numbers)
	}
	names := make([]string, len(m.Rows))
	for r, name := range m.Rows {
		names[top-r] = name
	}
	out.NominalX(m.Columns...)
	out.NominalY(names...)
	out.X.Tick.Label.Rotation, out.X.Tick.Label.XAlign, out.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	out.X.Tick.Label.Font.Size, out.Y.Tick.Label.Font.Size = 9, 9
	out.X.Padding, out.Y.Padding = 0, 0
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = -.5, float64(len(m.Columns))-.5, -.5, float64(top)+.5
	return nil
}

// shade returns a colour for an error: from pale yellow at 0.08 over orange to dark brown at 0.9,
// by the logarithm. Colour-blind people can order these colours.
func shade(v float64) color.NRGBA {
	t := math.Log(math.Max(v, 0.08)/0.08) / math.Log(0.9/0.08)
	t = 2 * math.Min(math.Max(t, 0), 1)
	stops := [][3]float64{{255, 250, 205}, {254, 153, 41}, {102, 37, 6}}
	i := min(int(t), 1)
	mix := func(k int) uint8 { return uint8(stops[i][k] + (stops[i+1][k]-stops[i][k])*(t-float64(i))) }
	return color.NRGBA{mix(0), mix(1), mix(2), 255}
}

// dark reports whether white text reads better on a colour.
func dark(c color.NRGBA) bool { return 3*int(c.R)+6*int(c.G)+int(c.B) < 1250 }
