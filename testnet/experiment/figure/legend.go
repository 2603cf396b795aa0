package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend gives names their colours, and shows them in columns.
type legend struct {
	names []string // by colour
	shown []entry
}

type entry struct {
	name  string
	thumb plot.Thumbnailer
}

// colour returns the colour of a name. New names take the palette's in order.
func (l *legend) colour(name string) color.NRGBA {
	i := slices.Index(l.names, name)
	if i < 0 {
		i = len(l.names)
		l.names = append(l.names, name)
	}
	return palette[i%len(palette)]
}

// show puts a name into the legend, once.
func (l *legend) show(name string, thumb plot.Thumbnailer) {
	if !slices.ContainsFunc(l.shown, func(e entry) bool { return e.name == name }) {
		l.shown = append(l.shown, entry{name, thumb})
	}
}

// The size of an entry.
const entryWidth, entryHeight = 200, 16 // points

func (l *legend) columns(w vg.Length) int { return max(1, int(w/entryWidth)) }

// height is that of the strip at a width.
func (l *legend) height(w vg.Length) vg.Length {
	if len(l.shown) == 0 {
		return 0
	}
	columns := l.columns(w)
	return 8 + entryHeight*vg.Length((len(l.shown)+columns-1)/columns)
}

func (l *legend) draw(c draw.Canvas) {
	size := c.Size()
	columns := l.columns(size.X)
	for i, e := range l.shown {
		left, top := 10+entryWidth*vg.Length(i%columns), entryHeight*vg.Length(i/columns)
		one := plot.NewLegend()
		one.Left, one.Top, one.ThumbnailWidth, one.Padding, one.TextStyle.Font.Size = true, true, 20, 4, 10
		one.Add(e.name, e.thumb)
		one.Draw(draw.Crop(c, left, 0, 0, -top))
	}
}
