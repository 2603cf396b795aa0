package train

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
	"github.com/spdl/spdl/testnet/experiment/recipe"
)

// The variants of the map that computes strokes, for comparison; no chain names them. Each gives
// features.Blocks inputs of length 3.
const (
	Raw      = "raw"      // the block features
	Whitened = "whitened" // minus their public mean, whitened by the strokes, in all directions
)

// Vary returns the training with another variant of the map of its inputs, which must be strokes.
func (s Spec) Vary(variant string) Spec {
	s.Variant = variant
	s.Params.Model.Features = params.Features{}
	s.Params.Model.Inputs = features.Blocks
	return s
}

// varied holds the inputs that this process has computed, by variant and hash of the images.
var varied sync.Map // of func() (mnist.Features, error)

// variant returns the inputs of all examples of a set, in its order.
func variant(name string, set mnist.Set) (mnist.Features, error) {
	type key struct {
		name string
		set  [sha256.Size]byte
	}
	once, _ := varied.LoadOrStore(key{name, features.Key(set)}, sync.OnceValues(func() (mnist.Features, error) {
		return vary(name, set)
	}))
	return once.(func() (mnist.Features, error))()
}

func vary(name string, set mnist.Set) (mnist.Features, error) {
	var linear func(r []float64) *mat.VecDense
	switch name {
	case Raw:
		linear = func(r []float64) *mat.VecDense { return mat.NewVecDense(len(r), r) }
	case Whitened:
		white, err := whitening()
		if err != nil {
			return mnist.Features{}, err
		}
		linear = white.apply
	default:
		return mnist.Features{}, fmt.Errorf("unknown variant of the strokes %q, want %s or %s", name, Raw, Whitened)
	}
	if set.Rows != set.Cols {
		return mnist.Features{}, fmt.Errorf("images of %dx%d, want a square", set.Rows, set.Cols)
	}
	f := mnist.Features{X: make([]float32, set.Len()*features.Blocks), Labels: set.Labels, Inputs: features.Blocks}
	workers := runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		group.Go(func() {
			m, err := features.New(set.Rows)
			errs[w] = err
			for i := w; err == nil && i < set.Len(); i += workers {
				scaled(f.Row(i), linear(wide(m, set.Image(i))))
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return mnist.Features{}, err
		}
	}
	return f, nil
}

// wide returns the block features of an image in float64.
func wide(m *features.Map, image []uint8) []float64 {
	var block [features.Blocks]float32
	m.Block(block[:], image)
	r := make([]float64, len(block))
	for i, v := range block {
		r[i] = float64(v)
	}
	return r
}

// scaled sets a row to a vector scaled to length 3, as the strokes are.
func scaled(row []float32, x *mat.VecDense) {
	norm := mat.Norm(x, 2)
	for j := range row {
		row[j] = float32(3 * x.AtVec(j) / (norm + 1e-6))
	}
}

// affine returns Wᵀ(r-mu).
type affine struct {
	mean       []float64
	transposed *mat.Dense
}

func (a affine) apply(r []float64) *mat.VecDense {
	x, centred := mat.NewVecDense(len(r), nil), mat.NewVecDense(len(r), r)
	centred.SubVec(centred, mat.NewVecDense(len(r), a.mean))
	x.MulVec(a.transposed, centred)
	return x
}

// whitening is computed once, from the strokes from which the public constants were computed.
var whitening = sync.OnceValues(func() (affine, error) {
	r, err := recipe.Sample(recipe.Glyphs)
	if err != nil {
		return affine{}, err
	}
	mean, transposed, err := recipe.Whiten(r)
	return affine{mean, transposed}, err
})
