package model

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// ErrSpec is wrapped by every error that [Spec.Validate] and [New] return.
var ErrSpec = errors.New("model: bad spec")

// These are the bounds on a spec, which may come from a genesis file.
const (
	MaxWidth   = 1 << 16          // the max number of inputs, and of hidden units
	MaxClasses = 1 << 8           // the max number of classes, because a label is a byte
	MaxDim     = gradients.MaxDim // the max number of parameters
)

// Spec describes a model: softmax regression if Hidden is 0, and otherwise a network with one layer
// of Hidden tanh units. With NoBias no layer has biases. With Logistic the logit of the first of two
// classes is 0, and has no parameters.
type Spec struct {
	Inputs, Hidden, Classes int
	NoBias, Logistic        bool
}

// SpecOf returns the spec of a chain's model. Spec is a separate type because the chain's message also holds the
// feature map before the first layer, and the pure package params must not import this package's arithmetic.
func SpecOf(m params.Model) Spec {
	return Spec{Inputs: int(m.Inputs), Hidden: int(m.Hidden), Classes: int(m.Classes), NoBias: m.NoBias,
		Logistic: m.Kind == params.ModelLogistic}
}

// Validate returns nil, or an error that wraps ErrSpec and names the field, its value and the bound.
func (s Spec) Validate() error {
	switch {
	case s.Inputs < 1 || s.Inputs > MaxWidth:
		return fmt.Errorf("%w: %d inputs, want 1 to %d", ErrSpec, s.Inputs, MaxWidth)
	case s.Hidden < 0 || s.Hidden > MaxWidth:
		return fmt.Errorf("%w: %d hidden units, want 0 to %d", ErrSpec, s.Hidden, MaxWidth)
	case s.Classes < 2 || s.Classes > MaxClasses:
		return fmt.Errorf("%w: %d classes, want 2 to %d", ErrSpec, s.Classes, MaxClasses)
	case s.Logistic && s.Classes != 2:
		return fmt.Errorf("%w: %d classes of a logistic model, want 2", ErrSpec, s.Classes)
	case s.dim() > MaxDim:
		return fmt.Errorf("%w: %d parameters, want at most %d", ErrSpec, s.dim(), MaxDim)
	}
	return nil
}

// Outputs returns the number of outputs of a valid spec.
func (s Spec) Outputs() int {
	if s.Logistic {
		return 1
	}
	return s.Classes
}

// Dim returns the number of parameters of a valid spec.
func (s Spec) Dim() int { return int(s.dim()) }

// dim returns the number of parameters. It does not overflow for sizes that Validate has not checked yet.
func (s Spec) dim() int64 {
	inputs, hidden, outputs, bias := int64(s.Inputs), int64(s.Hidden), int64(s.Outputs()), int64(1)
	if s.NoBias {
		bias = 0
	}
	if hidden == 0 {
		return outputs * (inputs + bias)
	}
	return hidden*(inputs+bias) + outputs*(hidden+bias)
}

// String returns the widths of the layers, as "196-10" or "196-32-10", followed by " without bias" if NoBias is set.
func (s Spec) String() string {
	widths := fmt.Sprintf("%d-%d", s.Inputs, s.Outputs())
	if s.Hidden > 0 {
		widths = fmt.Sprintf("%d-%d-%d", s.Inputs, s.Hidden, s.Outputs())
	}
	if s.NoBias {
		return widths + " without bias"
	}
	return widths
}
