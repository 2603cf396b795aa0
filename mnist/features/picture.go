package features

import (
	"fmt"
	"math"
)

// Picture draws a direction of the features, such as the weights of one class, as side*side
// numbers, row-major. Strokes where they are positive speak for the class, strokes where they are
// negative against it. The numbers have no unit: only their proportions mean anything.
//
// M w weighs the block features r: apart from the scaling of x, a class's logit is linear in r with
// these weights. Each weight of the blocks a and b is drawn as a line in its cell: through the
// middle, at a right angle to the gradients that the block feature collects, and fading as the
// cell's window does. This is no inverse of the map, which has none: the power, the norms and all
// of block u are left out. It panics unless w has Inputs values.
func (m *Map) Picture(w []float64) []float64 {
	if len(w) != Inputs {
		panic(fmt.Sprintf("features: direction of %d, want %d", len(w), Inputs))
	}
	var weights [2 * signed * places]float64 // of blocks a and b
	for j, v := range w {
		for i, entry := range public().column(j)[:len(weights)] {
			weights[i] += v * float64(entry)
		}
	}
	s := float64(len(m.full)) / cells
	out := make([]float64, m.side*m.side)
	for at := range out {
		y, x := at/m.side, at%m.side
		for cell := range places {
			dy := float64(y) - (s*float64(cell/cells) + (s-1)/2)
			dx := float64(x) - (s*float64(cell%cells) + (s-1)/2)
			window := max(0, 1-math.Abs(dy)/s) * max(0, 1-math.Abs(dx)/s)
			if window == 0 {
				continue
			}
			for k := range signed {
				sin, cos := math.Sincos(float64(k) * math.Pi / 4)
				off := 4 * (dx*cos + dy*sin) / s // in quarters of a cell's side
				line := window * math.Exp(-off*off/2)
				out[at] += line * (weights[k*places+cell] + weights[(signed+k)*places+cell])
			}
		}
	}
	return out
}
