package params

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
)

// These are the values of Model.Kind.
const (
	ModelSoftmax  = "softmax"
	ModelLogistic = "logistic" // of a table of two classes, centred: one output, the log odds of the second class
	ModelMLP      = "mlp"
	ModelExternal = "external"
)

// These are the names of the feature maps that turn images into a model's inputs. StrokesInputs is
// the number of inputs that the map FeaturesStrokes gives.
const (
	FeaturesPixels  = ""        // mean-pooled grey levels, by Pool, PixelMean and PixelScale
	FeaturesStrokes = "strokes" // the map of package mnist/features
	StrokesInputs   = 160
)

// Dim returns the number of parameters, d. In a built-in model each layer has weights, row-major by output, and then
// biases unless NoBias is set. An external model has the parameters of its tensors.
func (m Model) Dim() int {
	if m.Kind == ModelExternal {
		return m.tensorsDim()
	}
	in, hidden, outputs := int(m.Inputs)+m.Bias(), int(m.Hidden), m.Outputs()
	if m.Kind == ModelMLP {
		return hidden*in + outputs*(hidden+m.Bias())
	}
	return outputs * in
}

// Outputs returns the number of outputs of a built-in model: one for each class, or one with kind logistic.
func (m Model) Outputs() int {
	if m.Kind == ModelLogistic {
		return 1
	}
	return int(m.Classes)
}

// Centred reports whether the inputs are the columns of a table less their typical values, and behind
// them the constant TableConstant. Before version 7 of the state machine no model had such inputs.
func (m Model) Centred() bool { return m.Table != nil && int(m.Inputs) == m.Table.Inputs()+1 }

// Bias returns the number of biases of each unit: 0 with NoBias, 1 without.
func (m Model) Bias() int {
	if m.NoBias {
		return 0
	}
	return 1
}

func (m Model) validate() error {
	switch {
	case m.Kind == ModelExternal:
		return m.ValidateExternal()
	case m.Kind != ModelSoftmax && m.Kind != ModelLogistic && m.Kind != ModelMLP:
		return fmt.Errorf("model.kind is %.64q, want %q, %q, %q or %q", m.Kind, ModelSoftmax, ModelLogistic, ModelMLP,
			ModelExternal)
	case m.Kind == ModelLogistic && (m.Classes != 2 || !m.NoBias || !m.Centred()):
		return fmt.Errorf("model of kind %q has %d classes, no_bias %t and centred columns of a table %t, want 2, true and "+
			"true", m.Kind, m.Classes, m.NoBias, m.Centred())
	case len(m.Tensors) > 0 || m.Clipping != "" || m.Config != "" || m.Trainer != "":
		return fmt.Errorf("model has tensors, clipping, config or trainer, which are for kind %q, and kind %q", ModelExternal,
			m.Kind)
	}
	if err := m.validateLayers(); err != nil {
		return err
	}
	if err := m.Table.Validate(m); err != nil {
		return err
	}
	return m.validateFeatures()
}

// validateLayers checks the sizes of a built-in model's layers, and the settings for pixels.
func (m Model) validateLayers() error {
	switch {
	case (m.Hidden > 0) != (m.Kind == ModelMLP):
		return fmt.Errorf("model.hidden is %d for kind %q", m.Hidden, m.Kind)
	case m.Inputs == 0 || m.Classes < 2:
		return fmt.Errorf("model has %d inputs and %d classes, want at least 1 and 2", m.Inputs, m.Classes)
	case m.Inputs > gradients.MaxDim || m.Hidden > gradients.MaxDim || m.Classes > gradients.MaxDim ||
		m.Dim() > gradients.MaxDim:
		return fmt.Errorf("model of %d-%d-%d is too large, at most %d parameters", m.Inputs, m.Hidden, m.Classes,
			gradients.MaxDim)
	case m.Pool == 0:
		return fmt.Errorf("model.pool is 0, want at least 1")
	case math.IsNaN(m.PixelMean) || math.IsInf(m.PixelMean, 0):
		return fmt.Errorf("model.pixel_mean is %g, want a finite number", m.PixelMean)
	case !positive(m.PixelScale):
		return fmt.Errorf("model.pixel_scale is %g, want above 0", m.PixelScale)
	}
	return nil
}

// validateFeatures checks the feature map's name and hash. If the map reads whole images, the settings for pixels must
// have their neutral values. The worker checks that the map in its program has the hash.
func (m Model) validateFeatures() error {
	name, hash := m.Features.Name, m.Features.Hash
	switch {
	case name == FeaturesPixels && hash != "":
		return fmt.Errorf("model.features.hash is %.64q without a name", hash)
	case name == FeaturesPixels:
		return nil
	case name != FeaturesStrokes:
		return fmt.Errorf("model.features.name is %.64q, want %q, or none for pixels", name, FeaturesStrokes)
	case !isHash(hash):
		return fmt.Errorf("model.features.hash is %.70q, want %d hexadecimal digits", hash, hashDigits)
	case m.Inputs != StrokesInputs:
		return fmt.Errorf("model.inputs is %d with features %q, want %d", m.Inputs, name, StrokesInputs)
	case m.Pool != 1 || m.PixelMean != 0 || m.PixelScale != math.MaxUint8:
		return fmt.Errorf("model has pool %d, pixel_mean %g and pixel_scale %g with features %q, want 1, 0 and %d",
			m.Pool, m.PixelMean, m.PixelScale, name, math.MaxUint8)
	}
	return nil
}
