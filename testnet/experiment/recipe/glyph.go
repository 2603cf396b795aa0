package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
)

// The recipe of a glyph. All randomness of a glyph comes from one ChaCha8 generator, whose seed names the glyph.
const (
	side     = 28
	variants = 3    // of one glyph
	samples  = 24   // points of one curve
	extent   = 19   // longer side of the points' bounding box, in pixels
	wobble   = 0.05 // standard deviation of a variant's control points about the glyph's
)

type point struct{ x, y float64 }

// curve is a cubic Bezier curve by its control points.
type curve [4]point

// at returns the point of a parameter from 0 to 1.
func (c curve) at(t float64) point {
	var p point
	for i, w := range [4]float64{(1 - t) * (1 - t) * (1 - t), 3 * t * (1 - t) * (1 - t), 3 * t * t * (1 - t), t * t * t} {
		p.x += w * c[i].x
		p.y += w * c[i].y
	}
	return p
}

// glyph draws the variants of glyph number i: one to three curves with control points uniform in
// the unit square, each variant with its own wobble, linear map and pen.
func glyph(i int) [variants][]uint8 {
	rng := rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "spdl/features/strokes/v1/glyph/%d", i))))
	curves := make([]curve, 1+rng.IntN(3))
	for i := range curves {
		for k := range curves[i] {
			curves[i][k] = point{rng.Float64(), rng.Float64()}
		}
	}
	var images [variants][]uint8
	for v := range images {
		images[v] = variant(curves, rng)
	}
	return images
}

// variant draws the curves as another hand and another pen would.
func variant(curves []curve, rng *rand.Rand) []uint8 {
	var points []point
	for _, c := range curves {
		for k := range c {
			c[k].x += wobble * rng.NormFloat64()
			c[k].y += wobble * rng.NormFloat64()
		}
		for s := range samples {
			points = append(points, c.at(float64(s)/(samples-1)))
		}
	}
	between := func(low, high float64) float64 { return low + (high-low)*rng.Float64() }
	sin, cos := math.Sincos(between(-0.2, 0.2))
	shear, aspect := between(-0.3, 0.3), math.Exp(between(-0.2, 0.2))
	for i, p := range points {
		x, y := aspect*(p.x-0.5)+shear*(p.y-0.5), (p.y-0.5)/aspect
		points[i] = point{cos*x - sin*y, sin*x + cos*y}
	}
	place(points)
	return ink(points, between(0.9, 1.6))
}

// place scales the points to the extent and moves their mean to the centre of the image.
func place(points []point) {
	low, high, mean := points[0], points[0], point{}
	for _, p := range points {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
		mean.x += p.x / float64(len(points))
		mean.y += p.y / float64(len(points))
	}
	scale := extent / max(high.x-low.x, high.y-low.y)
	for i, p := range points {
		points[i] = point{scale*(p.x-mean.x) + (side-1)/2.0, scale*(p.y-mean.y) + (side-1)/2.0}
	}
}

// ink draws points with a pen of a width: grey levels
//
//	255 clip(1.4 (1 - exp(-1.2 Σ_p exp(-‖pixel-p‖²/(2 width²)))) - 0.15, 0, 1),
//
// rounded. The rounding hides the last bits of exp, in which machines differ.
func ink(points []point, width float64) []uint8 {
	var sums [side][side]float64
	var across, down [side]float64
	for _, p := range points {
		for i := range side {
			across[i] = math.Exp(-(float64(i) - p.x) * (float64(i) - p.x) / (2 * width * width))
			down[i] = math.Exp(-(float64(i) - p.y) * (float64(i) - p.y) / (2 * width * width))
		}
		for y := range sums {
			for x := range sums[y] {
				sums[y][x] += down[y] * across[x]
			}
		}
	}
	image := make([]uint8, 0, side*side)
	for y := range sums {
		for _, sum := range sums[y] {
			grey := 1.4*(1-math.Exp(-1.2*sum)) - 0.15
			image = append(image, uint8(math.Round(255*min(max(grey, 0), 1))))
		}
	}
	return image
}
