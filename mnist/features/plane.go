package features

import "math"

// plane is a square grid of n x n values in a frame of zeros one value wide: values outside an image are 0.
type plane struct {
	n int
	v []float32 // (n+2)*(n+2) values, row-major
}

func newPlane(n int) plane { return plane{n: n, v: make([]float32, (n+2)*(n+2))} }

// at returns the place of row y, column x in v, for y and x from -1 to n.
func (p plane) at(y, x int) int { return (y+1)*(p.n+2) + x + 1 }

// row returns the values of row y.
func (p plane) row(y int) []float32 { return p.v[p.at(y, 0):][:p.n] }

// smoothed sets p to the 2x2 means of q after smoothing with [1 2 1]/4 both ways, where q has sides
// of 2n. In one dimension that is [1 3 3 1]/8 at every second place.
func (p plane) smoothed(q plane) {
	stride := q.n + 2
	for y := range p.n {
		for x := range p.n {
			sum, at := float32(0), q.at(2*y-1, 2*x-1)
			for _, weight := range [4]float32{1, 3, 3, 1} {
				sum += weight * (q.v[at] + 3*q.v[at+1] + 3*q.v[at+2] + q.v[at+3])
				at += stride
			}
			p.v[p.at(y, x)] = sum / 64
		}
	}
}

// response holds the responses of all orientations at one place: the values of two neighbouring
// orientations, as the others are 0.
type response struct {
	y, x   int
	first  int        // the orientation of values[0], 0 to 7 (signed)
	values [2]float32 // of orientations first and first+1 (mod 8)
}

// oriented appends the responses of all places where the gradient is not 0.
//
// With s_k = gx cos(kπ/4) + gy sin(kπ/4) and m = ‖(gx, gy)‖, orientation k responds max(0, s_k - m cos(π/4)).
// That is positive within 45 degrees of the gradient's direction, which holds for one orientation along an axis and one
// along a diagonal. With u and v the larger and the smaller of |gx| and |gy|, these two respond
//
//	u - m/√2       = (u-v)(u+v) / (2 (u + m/√2))
//	(u+v-m)/√2     = √2 u v / (u+v+m).
//
// The right sides cancel no digits. Rounding errors where the response is 0 would not stay small:
// v^0.35 makes 0.002 of 2e-8.
func (p plane) oriented(dst []response) []response {
	stride := p.n + 2
	for y := range p.n {
		at := p.at(y, 0)
		above, own, below := p.v[at-stride:], p.v[at-1:], p.v[at+stride:]
		for x := range p.n {
			gx, gy := own[x+2]-own[x], below[x]-above[x]
			if gx == 0 && gy == 0 {
				continue
			}
			octant, u, v := direction(gx, gy)
			m := float32(math.Sqrt(float64(u*u + v*v)))
			axis := (u - v) * (u + v) / (2*u + math.Sqrt2*m)
			diagonal := math.Sqrt2 * u * v / (u + v + m)
			r := response{y: y, x: x, first: octant, values: [2]float32{axis, diagonal}}
			if octant%2 == 1 {
				r.values = [2]float32{diagonal, axis}
			}
			dst = append(dst, r)
		}
	}
	return dst
}

// direction returns k if the angle of (gx, gy) is at least kπ/4 and less than (k+1)π/4, and the
// larger and smaller of |gx| and |gy|.
func direction(gx, gy float32) (octant int, u, v float32) {
	if gy < 0 || gy == 0 && gx < 0 {
		gx, gy, octant = -gx, -gy, 4
	}
	if gx <= 0 {
		gx, gy, octant = gy, -gx, octant+2
	}
	if gy >= gx {
		return octant + 1, gy, gx
	}
	return octant, gx, gy
}
