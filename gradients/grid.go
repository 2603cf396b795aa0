package gradients

import (
	"fmt"
	"math"
)

// Grid is the set of values that a gradient may have: Width fixes the range, and Step the distance between neighbouring
// points in the units of the gradient. All participants use the grid of the genesis. With a step of its own, a sender
// could choose its scale, and distances would not be integers.
type Grid struct {
	Width Width
	Step  float64
}

// Validate returns an error that wraps ErrWidth or ErrStep if the grid cannot quantise.
func (g Grid) Validate() error {
	if !g.Width.Valid() {
		return fmt.Errorf("gradients: %w: %d bytes, want 1 or 2", ErrWidth, uint8(g.Width))
	}
	// NaN fails this form of the comparison.
	if !(g.Step > 0) || math.IsInf(g.Step, 0) {
		return fmt.Errorf("gradients: %w: %g, want a finite number above 0", ErrStep, g.Step)
	}
	return nil
}

// Quantize writes round(x/Step), half to even, for every x of src into dst. It returns the number
// of coordinates that it changed by more than rounding: values and infinities beyond [-Max, Max]
// become the nearest bound, and NaN becomes 0.
//
// Only workers call it. It has the only floating-point operation of this package: one division,
// which IEEE 754 rounds correctly, so that it gives the same grid point on every CPU. Quantising
// after noise is post-processing, including the saturation, and costs no privacy.
//
// Shapes: len(src) must be dst.Len(), and dst.Width() the grid's. Quantize panics otherwise, and
// also if the grid is invalid.
func (g Grid) Quantize(dst Vector, src []float64) (saturated int) {
	if err := g.Validate(); err != nil {
		panic(err)
	}
	if dst.Width() != g.Width || dst.Len() != len(src) {
		panic(fmt.Sprintf("gradients: quantise %d values to %v into a %v vector of %d",
			len(src), g.Width, dst.Width(), dst.Len()))
	}
	limit := float64(g.Width.Max())
	for i, x := range src {
		q := math.RoundToEven(x / g.Step)
		switch {
		case q >= -limit && q <= limit:
		case q > limit:
			q, saturated = limit, saturated+1
		case q < -limit:
			q, saturated = -limit, saturated+1
		default: // NaN compares false with everything
			q, saturated = 0, saturated+1
		}
		if g.Width == Int8 {
			dst.i8[i] = int8(q)
		} else {
			dst.i16[i] = int16(q)
		}
	}
	return saturated
}
