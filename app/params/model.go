package params

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
)

// The kinds of model.
const (
	ModelSoftmax = "softmax"
	ModelMLP     = "mlp"
)

// Dim is the number of parameters, d: the weights of each layer row-major by
// output, then its biases.
func (m Model) Dim() int {
	in, hidden, classes := int(m.Inputs), int(m.Hidden), int(m.Classes)
	if m.Kind == ModelMLP {
		return hidden*(in+1) + classes*(hidden+1)
	}
	return classes * (in + 1)
}

func (m Model) validate() error {
	switch {
	case m.Kind != ModelSoftmax && m.Kind != ModelMLP:
		return fmt.Errorf("model.kind is %q, want %q or %q", m.Kind, ModelSoftmax, ModelMLP)
	case (m.Hidden == 0) != (m.Kind == ModelSoftmax):
		return fmt.Errorf("model.hidden is %d for kind %q", m.Hidden, m.Kind)
	case m.Inputs == 0 || m.Classes < 2:
		return fmt.Errorf("model has %d inputs and %d classes, want at least 1 and 2", m.Inputs, m.Classes)
	case m.Inputs > gradients.MaxDim || m.Hidden > gradients.MaxDim || m.Classes > gradients.MaxDim || m.Dim() > gradients.MaxDim:
		return fmt.Errorf("model of %d-%d-%d is too large, at most %d parameters", m.Inputs, m.Hidden, m.Classes, gradients.MaxDim)
	case m.Pool == 0:
		return fmt.Errorf("model.pool is 0, want at least 1")
	case math.IsNaN(m.PixelMean) || math.IsInf(m.PixelMean, 0):
		return fmt.Errorf("model.pixel_mean is %g, want a finite number", m.PixelMean)
	case !positive(m.PixelScale):
		return fmt.Errorf("model.pixel_scale is %g, want above 0", m.PixelScale)
	}
	return nil
}
