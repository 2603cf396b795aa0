package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// A gradientMap is the picture of a round's shape. Both axes have the same scale, because the picture shows distances.
// A line leads from a point to its name if the name is not beside the point.
type gradientMap struct {
	Width, Height int
	Points        []mapPoint
	Scale         string  // the distance that the bar below the picture stands for
	Bar           float64 // its length in pixels
	Kept          float64 // share of the squared distances that the picture keeps
	Values        table   // the gradients in numbers, lengths in grid steps
}

// mapPoint is a gradient, or Delta, in pixels.
type mapPoint struct {
	X, Y, NameX, NameY float64
	Class, Name        string
	Round              string // address of the gradient's page; "" for Delta
}

// signs maps each class of a mark to its sign.
var signs = map[string]string{chainview.LeftOut: "–", "opposed": "✕", "small": "~"}

// Sign is the sign of the mark's class, "" if it has none.
func (p mapPoint) Sign() string { return signs[p.Class] }

// Below reports whether the name is not beside the point.
func (p mapPoint) Below() bool { return p.NameY > p.Y+4 }

// The width of the picture, its largest height, the margin, the room for names on the right, the
// height of a name, and the room for the scale below.
const mapWidth, mapHeight, mapMargin, mapNames, nameHeight, mapFoot = 720, 320, 20.0, 150.0, 22.0, 40.0

// mapOf draws a shape. The fates are those of the verdicts.
func mapOf(s *chainview.Shape, at params.RoundID, verdicts []chainview.Verdict) *gradientMap {
	m := &gradientMap{Width: mapWidth, Kept: s.Kept, Values: table{name: "map",
		header: []string{"participant", "x", "y", "norm", "degrees_to_delta"}}}
	by := map[uint32]chainview.Verdict{}
	for _, v := range verdicts {
		by[v.Participant] = v
	}
	places := slices.Clone(s.Place)
	if s.Known {
		places = append(places, s.Delta)
	}
	view := frameOf(places)
	for i, who := range s.Participants {
		x, y := view.place(s.Place[i])
		p := mapPoint{X: x, Y: y, Class: classOf(by[who]), Name: fmt.Sprintf("#%d %s", who, Short(by[who].Moniker, 12)),
			Round: fmt.Sprintf("/round/%s/gradient/%d", at, who)}
		m.Points = append(m.Points, p)
		m.Values.add(who, s.Place[i][0], s.Place[i][1], s.Norm[i], s.Angle(who))
	}
	if s.Known {
		x, y := view.place(s.Delta)
		m.Points = append(m.Points, mapPoint{X: x, Y: y, Class: "delta", Name: "Delta"})
	}
	m.Height = int(max(view.height, spread(m.Points)) + mapFoot)
	steps := roundUp(80 / view.scale)
	m.Bar, m.Scale = steps*view.scale, fmt.Sprintf("%.0f grid steps", steps)
	return m
}

// classOf returns the class of a gradient's mark.
func classOf(v chainview.Verdict) string {
	switch {
	case v.Opposed:
		return "opposed"
	case v.Fate == "":
		return chainview.Selected
	case v.Small():
		return "small"
	}
	return v.Fate
}

// frame maps grid steps to pixels.
type frame struct{ left, bottom, scale, x, height float64 }

func frameOf(places [][2]float64) frame {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, p := range places {
		for k := range 2 {
			low[k], high[k] = min(low[k], p[k]), max(high[k], p[k])
		}
	}
	wide, tall := mapWidth-2*mapMargin-mapNames, mapHeight-2*mapMargin
	scale := min(wide/max(1, high[0]-low[0]), tall/max(1, high[1]-low[1]))
	return frame{left: low[0], bottom: low[1], scale: scale, x: mapMargin + (wide-scale*(high[0]-low[0]))/2,
		height: 2*mapMargin + scale*(high[1]-low[1])}
}

func (f frame) place(p [2]float64) (x, y float64) {
	return f.x + f.scale*(p[0]-f.left), f.height - mapMargin - f.scale*(p[1]-f.bottom)
}

// A box is a part of the picture.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// label returns the box of a point's name that begins at a position. A letter is as wide as on a telephone.
func (p *mapPoint) label(x, y float64) box {
	const letter = 11
	runes := utf8.RuneCountInString(p.Name)
	if p.Sign() != "" {
		runes += 2
	}
	return box{x, y - nameHeight + 4, x + letter*float64(runes), y + 4}
}

// spread moves the names apart. Each name stands on the right of its point or on the left, or else below, where it
// covers neither a point nor another name. It returns the position of the lowest name.
func spread(points []mapPoint) (lowest float64) {
	order := make([]*mapPoint, len(points))
	var taken []box
	for i, p := range points {
		order[i] = &points[i]
		taken = append(taken, box{p.X - 8, p.Y - 8, p.X + 8, p.Y + 8})
	}
	slices.SortStableFunc(order, func(a, b *mapPoint) int { return cmp.Compare(a.Y, b.Y) })
	for _, p := range order {
		own := p.label(0, 0)
		free := func(x, y float64) bool {
			at := p.label(x, y)
			return at.left >= 0 && !slices.ContainsFunc(taken, at.meets)
		}
		p.NameX, p.NameY = p.X+12, p.Y+4
		for down := 0; down < 4*len(points) && !free(p.NameX, p.NameY); down++ {
			if p.NameX = p.X - 12 - own.right; free(p.NameX, p.NameY) {
				break
			}
			p.NameX, p.NameY = p.X+12, p.NameY+nameHeight
		}
		taken = append(taken, p.label(p.NameX, p.NameY))
		lowest = max(lowest, p.NameY)
	}
	return lowest
}

// Foot is the vertical position of the bar of the scale.
func (m *gradientMap) Foot() int { return m.Height - 10 }
