package params

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/gradients"
)

// These are the ways of clipping the gradients of an external model's examples.
const (
	ClippingRows = "rows" // SPDL clips each example's gradient, a row of the trainer's answer
	ClippingSum  = "sum"  // the trainer clips, and sends only the sum of the clipped gradients to SPDL
)

// These are the names of the ways to set a tensor's initial values.
const (
	InitZeros  = "zeros"
	InitGlorot = "glorot" // uniform in +-sqrt(6/(fan in + fan out))
	InitNormal = "normal" // approximately normal, of standard deviation sqrt(2/(fan in))
)

// These limits hold for an external model, in addition to gradients.MaxDim parameters.
const (
	maxTensors    = 1024
	maxTensorName = 128 // in bytes
	maxTensorRank = 8
	maxConfig     = 1 << 14 // in bytes
	maxModel      = 1 << 15 // in bytes, encoded: a block with a round must have space for a StartEpoch with the model
)

// Len returns the number of a tensor's parameters, or gradients.MaxDim+1 if the number is above gradients.MaxDim.
func (t Tensor) Len() int {
	n := uint64(1)
	for _, side := range t.Shape {
		if n *= uint64(side); n > gradients.MaxDim {
			return gradients.MaxDim + 1
		}
	}
	return int(n)
}

// Fans returns, for a tensor of at least two dimensions, the number of inputs of a unit and the number of units that an
// input feeds. The dimensions are in PyTorch's order: outputs, inputs, then the sides of a convolution's window.
func (t Tensor) Fans() (in, out int) {
	window := 1
	for _, side := range t.Shape[2:] {
		window *= int(side)
	}
	return int(t.Shape[1]) * window, int(t.Shape[0]) * window
}

func (m Model) tensorsDim() (d int) {
	for _, t := range m.Tensors {
		d = min(d+t.Len(), gradients.MaxDim+1)
	}
	return d
}

// ValidateExternal checks a model of the kind external.
func (m Model) ValidateExternal() error {
	switch {
	case m.describesInputs():
		return fmt.Errorf("model of kind %q has inputs %d, hidden %d, classes %d, pool %d, pixel_mean %g, pixel_scale %g, "+
			"features %.64q, no_bias %t or a table (%t), want none: its tensors say all",
			m.Kind, m.Inputs, m.Hidden, m.Classes, m.Pool, m.PixelMean, m.PixelScale, m.Features.Name, m.NoBias, m.Table != nil)
	case len(m.Tensors) == 0 || len(m.Tensors) > maxTensors:
		return fmt.Errorf("model has %d tensors, want 1 to %d", len(m.Tensors), maxTensors)
	case m.Clipping != ClippingRows && m.Clipping != ClippingSum:
		return fmt.Errorf("model.clipping is %.64q, want %q or %q", m.Clipping, ClippingRows, ClippingSum)
	case m.Trainer != "" && !isHash(m.Trainer):
		return fmt.Errorf("model.trainer is %.70q, want %d hexadecimal digits or none", m.Trainer, hashDigits)
	}
	if err := m.validateTensors(); err != nil {
		return err
	}
	if n := m.Size(); n > maxModel {
		return fmt.Errorf("model takes %d bytes encoded, at most %d: fewer tensors, shorter names or a shorter config", n,
			maxModel)
	}
	return CheckText("model.config", m.Config, maxConfig)
}

// describesInputs reports whether the model sets a field that only built-in models have: the
// layers, or the inputs of the first layer.
func (m Model) describesInputs() bool {
	sizes := m.Inputs != 0 || m.Hidden != 0 || m.Classes != 0 || m.Pool != 0 || m.NoBias
	return sizes || m.PixelMean != 0 || m.PixelScale != 0 || m.Features != Features{} || m.Table != nil
}

// validateTensors checks each tensor, the uniqueness of their names, and the total number of parameters.
func (m Model) validateTensors() error {
	names := make(map[string]bool, len(m.Tensors))
	for i, t := range m.Tensors {
		if err := t.validate(); err != nil {
			return fmt.Errorf("model.tensors[%d]: %w", i, err)
		}
		if names[t.Name] {
			return fmt.Errorf("model.tensors[%d]: name %q stands there twice", i, t.Name)
		}
		names[t.Name] = true
	}
	if m.Dim() > gradients.MaxDim {
		return fmt.Errorf("model's tensors have too many parameters, at most %d", gradients.MaxDim)
	}
	return nil
}

// reserved holds the names that a tensor must not have, because exported model files use them for
// entries that are not tensors.
var reserved = map[string]bool{"card": true, "__metadata__": true}

func (t Tensor) validate() error {
	switch {
	case t.Name == "" || len(t.Name) > maxTensorName || strings.Trim(t.Name, nameBytes) != "" || reserved[t.Name]:
		return fmt.Errorf("name is %.140q, want 1 to %d letters, digits, dots, hyphens and underscores, and neither "+
			"\"card\" nor \"__metadata__\"", t.Name, maxTensorName)
	case len(t.Shape) == 0 || len(t.Shape) > maxTensorRank:
		return fmt.Errorf("%q has %d dimensions, want 1 to %d", t.Name, len(t.Shape), maxTensorRank)
	case t.Len() == 0 || t.Len() > gradients.MaxDim:
		return fmt.Errorf("%q has shape %v, want 1 to %d parameters", t.Name, t.Shape, gradients.MaxDim)
	case t.Init != InitZeros && t.Init != InitGlorot && t.Init != InitNormal:
		return fmt.Errorf("%q begins as %.64q, want %q, %q or %q", t.Name, t.Init, InitZeros, InitGlorot, InitNormal)
	case t.Init != InitZeros && len(t.Shape) < 2:
		return fmt.Errorf("%q begins as %q and has shape %v, want at least two dimensions: outputs and inputs", t.Name,
			t.Init, t.Shape)
	}
	return nil
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
