package features

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/spdl/spdl/mnist"
)

// These are the sizes of the map's parts.
const (
	Inputs  = 160 // features of one image, which are a model's inputs
	Blocks  = 512 // block features, from which the features are made
	MinSide = 8   // pixels, so that each pooling cell of the halved image has one
)

const (
	signed, unsigned = 8, 4 // numbers of orientations
	places           = cells * cells
	power            = 0.35
	length           = 3    // of a row of features
	tiny             = 1e-6 // keeps an empty image from dividing by 0
)

// kernels are gonum's float32 loops, assembly on amd64.
var kernels gonum.Implementation

// Map computes features of square images of one size. It holds tables and scratch memory. It is not
// safe for concurrent use: one per goroutine, or [Strokes] for whole sets.
type Map struct {
	side      int
	full      []window // of the padded image
	half      []window // of the halved ones
	grey      plane
	halved    plane
	energy    [unsigned]plane // the halved unsigned maps of the grey image
	responses []response
	blocks    [Blocks]float32
}

// New returns the map for images of side x side pixels.
// It fails with [mnist.ErrFeatures] unless side is from MinSide to [mnist.MaxSide].
func New(side int) (*Map, error) {
	if side < MinSide || side > mnist.MaxSide {
		return nil, fmt.Errorf("%w: strokes of images of side %d, want %d to %d", mnist.ErrFeatures, side, MinSide,
			mnist.MaxSide)
	}
	half := (side + 1) / 2
	m := &Map{
		side:   side,
		full:   newWindows(2 * half),
		half:   newWindows(half),
		grey:   newPlane(2 * half),
		halved: newPlane(half),
	}
	for k := range m.energy {
		m.energy[k] = newPlane(half)
	}
	return m, nil
}

// Row sets dst, of length Inputs, to the features x of one image of side*side grey levels,
// row-major. It panics if shapes do not match.
func (m *Map) Row(dst []float32, image []uint8) {
	if len(dst) != Inputs {
		panic(fmt.Sprintf("features: destination of %d, want %d", len(dst), Inputs))
	}
	r, c := m.blocks[:], public()
	m.Block(r, image)
	for i, mean := range c.mean {
		r[i] -= mean
	}
	for j := range dst {
		dst[j] = kernels.Sdot(Blocks, c.column(j), 1, r, 1)
	}
	norm := math.Sqrt(kernels.Dsdot(Inputs, dst, 1, dst, 1))
	kernels.Sscal(Inputs, float32(length/(norm+tiny)), dst, 1)
}

// Block sets dst, of length Blocks, to the block features r of one image, before anything public is
// removed: the blocks a, b and u of the package comment. It panics if shapes do not match.
func (m *Map) Block(dst []float32, image []uint8) {
	if len(dst) != Blocks || len(image) != m.side*m.side {
		panic(fmt.Sprintf("features: destination of %d and %d pixels, want %d and %d", len(dst), len(image), Blocks,
			m.side*m.side))
	}
	clear(dst)
	a, b, u := dst[:signed*places], dst[signed*places:2*signed*places], dst[2*signed*places:]

	m.load(image)
	m.responses = m.grey.oriented(m.responses[:0])
	pool(a, m.responses, m.full, signed)
	m.halve()

	m.responses = m.halved.oriented(m.responses[:0])
	pool(b, m.responses, m.half, signed)

	for k, energy := range m.energy {
		m.responses = energy.oriented(m.responses[:0])
		pool(u[k*unsigned*places:][:unsigned*places], m.responses, m.half, unsigned)
	}
	for _, block := range [][]float32{a, b, u} {
		normalise(block)
	}
}

// load sets the grey plane, whose last row and column stay 0 if the side is odd, and the halved plane. Grey levels are
// 0 to 255 here, so that sums and differences are exact; normalise scales them.
func (m *Map) load(image []uint8) {
	for y := range m.side {
		row := m.grey.row(y)
		for x, level := range image[y*m.side:][:m.side] {
			row[x] = float32(level)
		}
	}
	m.halved.smoothed(m.grey)
}

// halve sets the energy planes to the 2x2 means of the unsigned responses at hand.
func (m *Map) halve() {
	for _, energy := range m.energy {
		clear(energy.v)
	}
	for _, r := range m.responses {
		at := m.halved.at(r.y/2, r.x/2)
		for k, value := range r.values {
			m.energy[(r.first+k)%unsigned].v[at] += value / 4
		}
	}
}

// normalise sets each v to (v/255)^0.35, divided by the norm of all of them plus 1e-6.
func normalise(block []float32) {
	square := 0.0
	for i, v := range block {
		if v > 0 {
			w := math.Exp(power * math.Log(float64(v)/math.MaxUint8))
			square += w * w
			block[i] = float32(w)
		}
	}
	kernels.Sscal(len(block), float32(1/(math.Sqrt(square)+tiny)), block, 1)
}
