package evaluate

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist/features"
)

// strokeSide is the side in pixels of a picture of strokes. MNIST's images have the same side.
const strokeSide = 28

// Frame returns the number of pictures that [Pictures] draws of a model, one for each class or
// hidden unit, and the side of a picture in pixels. The side is 0 if the inputs cannot be drawn
// because they are columns of a table, or pixels that do not form a square.
func Frame(m params.Model) (n, side int) {
	n = int(m.Classes)
	if m.Kind == params.ModelMLP {
		n = int(m.Hidden)
	}
	if m.Features.Name == params.FeaturesStrokes {
		return n, strokeSide
	}
	if m.Table != nil {
		return n, 0
	}
	side = int(math.Round(math.Sqrt(float64(m.Inputs))))
	if side*side != int(m.Inputs) {
		return n, 0
	}
	return n, side
}

// Pictures draws the first layer of a model: the n pictures of side x side numbers that Frame
// announces, one after another. Weights of pixels are drawn as they are. [features.Map.Picture]
// draws weights of strokes: the picture shows the strokes that speak for and against a class, and
// is not an inverse of the map. Pictures fails if the number of parameters is not the model's, or
// if the inputs cannot be drawn.
func Pictures(m params.Model, parameters []float64) ([]float64, error) {
	n, side := Frame(m)
	if side == 0 || len(parameters) != m.Dim() {
		return nil, fmt.Errorf("%d parameters of a model of %d with %d inputs have no picture", len(parameters), m.Dim(),
			m.Inputs)
	}
	if m.Features.Name != params.FeaturesStrokes {
		return parameters[:n*side*side], nil
	}
	if m.Inputs != features.Inputs {
		return nil, fmt.Errorf("%d inputs, strokes have %d", m.Inputs, features.Inputs)
	}
	strokes, err := features.New(side)
	if err != nil {
		return nil, err
	}
	var out []float64
	for i := range n {
		out = append(out, strokes.Picture(parameters[i*features.Inputs:(i+1)*features.Inputs])...)
	}
	return out, nil
}
