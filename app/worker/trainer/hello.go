package trainer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/params"
)

// Share describes the participant's part of a common data set. A participant with its own data has part 0 of 1.
type Share struct {
	Data      string  `json:"data"` // the path or name in worker.data
	Part      int     `json:"part"`
	Parts     int     `json:"parts"`
	Partition string  `json:"partition"`
	Alpha     float64 `json:"alpha"`
	Seed      uint64  `json:"seed"`
}

// hello is the body of the HELLO frame, which is the first frame that a trainer gets.
type hello struct {
	Protocol  int             `json:"protocol"`       // always 1; trainers of version 1 read only this key
	Protocols []int           `json:"protocols"`      // the versions that the worker speaks
	Unit      string          `json:"unit,omitempty"` // the unit of privacy: "group", or empty for an example
	Dimension int             `json:"dimension"`
	Clip      float64         `json:"clip"`     // the clip norm; 0 means no clipping
	Clipping  string          `json:"clipping"` // "rows" or "sum"
	Tensors   []params.Tensor `json:"tensors"`
	Config    string          `json:"config"`
	Share     Share           `json:"share"`
}

// Tensor is the name and the shape of a tensor in the trainer's own model.
type Tensor struct {
	Name  string   `json:"name"`
	Shape []uint32 `json:"shape"`
}

// answer is the body of a trainer's answer to HELLO.
type answer struct {
	Protocol  int  `json:"protocol"`
	Examples  int  `json:"examples"`
	Evaluates bool `json:"evaluates"`
	Predicts  bool `json:"predicts,omitempty"` // whether it gives rows their probabilities
	Groups    bool `json:"groups,omitempty"`   // whether the trainer knows the groups of its examples
	// Tensors lists the tensors of the trainer's own model. It is empty if the trainer does not name them.
	Tensors []Tensor `json:"tensors,omitempty"`
}

func decodeAnswer(body []byte, unit string) (a answer, err error) {
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("its answer to HELLO is no JSON: %s", quote(err.Error()))
	}
	switch {
	case a.Protocol != protocolFirst && a.Protocol != protocolSecond:
		return a, fmt.Errorf("it speaks protocol %d, this program %d and %d", a.Protocol, protocolFirst, protocolSecond)
	case a.Protocol < protocolSecond && unit == params.UnitGroup:
		return a, fmt.Errorf("it speaks protocol %d, which knows no groups, and privacy.unit is %q: want a trainer of "+
			"protocol %d (app/worker/trainer/PROTOCOL.md), as spdl new writes", a.Protocol, unit, protocolSecond)
	case unit == params.UnitGroup && a.Examples > maxGrouped:
		return a, fmt.Errorf("it has %d examples in groups, at most %d", a.Examples, maxGrouped)
	case a.Examples < 1 || a.Examples > math.MaxInt32:
		return a, fmt.Errorf("it has %d examples, want 1 to %d", a.Examples, math.MaxInt32)
	}
	return a, nil
}

// TensorError means that a trainer's model has other tensors than the chain's model.
type TensorError struct {
	Model      []Tensor // the tensors of the trainer's model
	Difference string   // the first difference
}

func (e *TensorError) Error() string {
	return quote(e.Difference) + ": build the model that the parameters describe, or make parameters of this one " +
		"(spdl new --module)"
}

// compare returns a TensorError with the first difference between the trainer's tensors and the chain's. The order of
// the tensors does not matter. If a trainer names no tensors, compare returns nil.
func compare(model []Tensor, chain []params.Tensor) error {
	if len(model) == 0 {
		return nil
	}
	shapes := make(map[string][]uint32, len(model))
	for _, t := range model {
		shapes[t.Name] = t.Shape
	}
	for _, t := range chain {
		shape, there := shapes[t.Name]
		delete(shapes, t.Name)
		if !there {
			return &TensorError{model, fmt.Sprintf("tensor %s of the parameters, of shape %v, is not in the model", t.Name,
				t.Shape)}
		}
		if !slices.Equal(shape, t.Shape) {
			return &TensorError{model, fmt.Sprintf("tensor %s has shape %v in the model and %v in the parameters", t.Name,
				shape, t.Shape)}
		}
	}
	for _, t := range model {
		if _, left := shapes[t.Name]; left {
			return &TensorError{model, fmt.Sprintf("tensor %.140s of the model, of shape %v, is not in the parameters", t.Name,
				t.Shape)}
		}
	}
	return nil
}

// Eval is a trainer's evaluation of a model on its own test set.
type Eval struct {
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy"`
	Examples int     `json:"examples"` // the size of the test set
}

func decodeEval(body []byte) (e Eval, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("its answer to EVALUATE is no JSON: %s", quote(err.Error()))
	}
	if !(e.Accuracy >= 0 && e.Accuracy <= 1) || e.Examples < 1 || e.Examples > math.MaxInt32 {
		return e, fmt.Errorf("it measured accuracy %g on %d examples, want 0 to 1 on 1 to %d", e.Accuracy, e.Examples,
			math.MaxInt32)
	}
	return e, nil
}
