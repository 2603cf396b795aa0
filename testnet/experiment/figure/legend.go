package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend gives each name its look, and shows the names in columns.
type legend struct {
	names  []string // by look
	shown  []entry
	banded bool // some line has a band
}

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// look distinguishes a line from other lines.
type look struct {
	index  int
	colour color.NRGBA
	dashes []vg.Length
	mark   draw.GlyphDrawer
}

// The dashes and the marks of lines, in order. The first line is solid; the lines drawn over it
// have gaps through which it stays visible.
var (
	dashes = [][]vg.Length{nil, {8, 4}, {2, 3}, {9, 3, 2, 3}, {14, 4}}
	marks  = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{},
		draw.BoxGlyph{}, draw.TriangleGlyph{},
	}
)

// look returns the look of a name. New names take the looks in order.
func (l *legend) look(name string) look {
	i := slices.Index(l.names, name)
	if i < 0 {
		i = len(l.names)
		l.names = append(l.names, name)
	}
	return look{i, palette[i%len(palette)], dashes[i%len(dashes)], marks[i%len(marks)]}
}

// fewMarks is the number of marks of a line that has more points.
const fewMarks = 8

// some returns the points with a mark: all points of a short line, and about eight of a long line.
// Each look takes other points, so that the marks of lines that coincide stand side by side.
func (l look) some(points plotter.XYs) plotter.XYs {
	if len(points) <= 2*fewMarks {
		return points
	}
	apart := len(points) / fewMarks
	var out plotter.XYs
	for i := l.index * max(1, apart/3) % apart; i < len(points); i += apart {
		out = append(out, points[i])
	}
	return out
}

// show adds a name to the legend once.
func (l *legend) show(name string, thumbs ...plot.Thumbnailer) {
	if !slices.ContainsFunc(l.shown, func(e entry) bool { return e.name == name }) {
		l.shown = append(l.shown, entry{name, thumbs})
	}
}

// entries returns the names that were shown, and an explanation of bands if there are any.
func (l *legend) entries() []entry {
	if !l.banded {
		return l.shown
	}
	return append(slices.Clone(l.shown), entry{"band: least to greatest of the seeds",
		[]plot.Thumbnailer{&plotter.Polygon{Color: color.Gray{215}}}})
}

// The size of an entry: a name's letters are 5.5 points wide on average.
const thumbWidth, letterWidth, entryHeight = 34, 5.5, 16 // points

func (l *legend) entryWidth() vg.Length {
	longest := 0
	for _, e := range l.entries() {
		longest = max(longest, len(e.name))
	}
	return vg.Length(thumbWidth + 16 + letterWidth*float64(longest))
}

func (l *legend) columns(w vg.Length) int { return max(1, int(w/l.entryWidth())) }

// height returns the height of the legend's strip at a width.
func (l *legend) height(w vg.Length) vg.Length {
	if len(l.shown) == 0 {
		return 0
	}
	columns := l.columns(w)
	return 8 + entryHeight*vg.Length((len(l.entries())+columns-1)/columns)
}

func (l *legend) draw(c draw.Canvas) {
	columns := l.columns(c.Size().X)
	for i, e := range l.entries() {
		left, top := 10+l.entryWidth()*vg.Length(i%columns), entryHeight*vg.Length(i/columns)
		one := plot.NewLegend()
		one.Left, one.Top, one.ThumbnailWidth, one.Padding, one.TextStyle.Font.Size = true, true, thumbWidth, 4, 10
		one.Add(e.name, e.thumbs...)
		one.Draw(draw.Crop(c, left, 0, 0, -top))
	}
}
