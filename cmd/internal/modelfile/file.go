package modelfile

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// The formats of a file.
const (
	Safetensors = "safetensors"
	NPZ         = "npz"
)

// MaxBytes is the max size of a file.
const MaxBytes = 128 << 20

// Formats returns the formats.
func Formats() []string { return []string{Safetensors, NPZ} }

// Tensor is a part of the parameters with its name and shape.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float64
}

// Tensors splits the parameters of a model into the weights of its layers, row-major by output as
// in PyTorch, and the biases, if it has any. An external model's parameters are split into the
// tensors that genesis names. The tensors share the memory of parameters.
func Tensors(m params.Model, parameters []float64) ([]Tensor, error) {
	if err := plausible(m); err != nil {
		return nil, err
	}
	if d := m.Dim(); len(parameters) != d || d == 0 {
		return nil, fmt.Errorf("%w: %d parameters, the model has %d", ErrFile, len(parameters), d)
	}
	shapes := layers(m)
	if m.Kind == params.ModelExternal {
		shapes = external(m)
	}
	at := 0
	for i := range shapes {
		n := 1
		for _, side := range shapes[i].Shape {
			n *= side
		}
		shapes[i].Data = parameters[at : at+n : at+n]
		at += n
	}
	return shapes, nil
}

// external returns the tensors that genesis names.
func external(m params.Model) (shapes []Tensor) {
	for _, t := range m.Tensors {
		shape := make([]int, len(t.Shape))
		for i, side := range t.Shape {
			shape[i] = int(side)
		}
		shapes = append(shapes, Tensor{Name: t.Name, Shape: shape})
	}
	return shapes
}

// layers returns the tensors of a model that is not external.
func layers(m params.Model) (shapes []Tensor) {
	in, hidden := int(m.Inputs), int(m.Hidden)
	layer := func(name string, units, inputs int) {
		shapes = append(shapes, Tensor{Name: name + ".weight", Shape: []int{units, inputs}})
		if !m.NoBias {
			shapes = append(shapes, Tensor{Name: name + ".bias", Shape: []int{units}})
		}
	}
	if m.Kind == params.ModelMLP {
		layer("hidden", hidden, in)
		in = hidden
	}
	layer("output", m.Outputs(), in)
	return shapes
}

// plausible returns an error if a card's description of its model is impossible, so that no computation uses it.
func plausible(m params.Model) error {
	if m.Kind == params.ModelExternal {
		if err := m.ValidateExternal(); err != nil {
			return fmt.Errorf("%w: the card's model: %w", ErrFile, err)
		}
		return nil
	}
	const most, mostText = 1 << 16, 64
	if m.Inputs == 0 || m.Inputs > most || m.Hidden > most || m.Classes == 0 || m.Classes > most || m.Dim() > MaxBytes/8 ||
		len(m.Features.Name) > mostText || len(m.Features.Hash) > mostText {
		return fmt.Errorf("%w: the card's model is %+v", ErrFile, m)
	}
	if err := m.Table.Validate(m); err != nil {
		return fmt.Errorf("%w: the card's model: %w", ErrFile, err)
	}
	return nil
}

// Encode returns the file's bytes in a format. Equal files give equal bytes.
func (f *File) Encode(format string) ([]byte, error) {
	tensors, err := Tensors(f.Card.Model, f.Parameters)
	if err != nil {
		return nil, err
	}
	switch format {
	case Safetensors:
		return encodeSafetensors(f, tensors), nil
	case NPZ:
		return encodeNPZ(f, tensors)
	}
	return nil, fmt.Errorf("format %q, want one of %s", format, strings.Join(Formats(), ", "))
}

// Decode decodes a file of any format, and returns the format too. It accepts only the exact bytes
// that Encode writes, so every change to a file is detected here or by Check.
func Decode(data []byte) (*File, string, error) {
	if len(data) > MaxBytes {
		return nil, "", fmt.Errorf("%w: %d bytes, at most %d", ErrFile, len(data), MaxBytes)
	}
	var format string
	var decode func([]byte) (*File, error)
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		format, decode = NPZ, decodeNPZ
	case len(data) > 8 && data[8] == '{':
		format, decode = Safetensors, decodeSafetensors
	default:
		return nil, "", fmt.Errorf("%w: neither %s, of which spdl model export writes one", ErrFile,
			strings.Join(Formats(), " nor "))
	}
	f, err := decode(data)
	if err != nil {
		return nil, format, err
	}
	again, err := f.Encode(format)
	if err != nil {
		return nil, format, err
	}
	if !bytes.Equal(again, data) {
		at := 0
		for at < min(len(again), len(data)) && again[at] == data[at] {
			at++
		}
		return nil, format, fmt.Errorf("%w: byte %d of the file is not what spdl writes there: it was changed, or written "+
			"by another program", ErrFile, at)
	}
	return f, format, nil
}

// joined returns the file with a card and, as one vector, the parameters that the function of returns for each
// tensor of the card's model.
func joined(text []byte, of func(Tensor) ([]float64, error)) (*File, error) {
	card, err := decodeCard(text)
	if err != nil {
		return nil, err
	}
	if err := plausible(card.Model); err != nil { // before a card allocates memory
		return nil, err
	}
	parameters := make([]float64, card.Model.Dim())
	tensors, err := Tensors(card.Model, parameters)
	if err != nil {
		return nil, err
	}
	for _, t := range tensors {
		x, err := of(t)
		if err != nil {
			return nil, err
		}
		if len(x) != len(t.Data) {
			return nil, fmt.Errorf("%w: %s has %d parameters, want %d", ErrFile, t.Name, len(x), len(t.Data))
		}
		copy(t.Data, x)
	}
	return &File{Card: card, Parameters: parameters}, nil
}

// summary returns the card as strings, for tools that show a file's metadata.
func (c *Card) summary() map[string]string {
	s := map[string]string{
		"format": "pt", "chain_id": c.ChainID, "epoch": fmt.Sprint(c.Epoch), "round": fmt.Sprint(c.Round), "preset": c.Preset,
		"rule": c.Rule, "participants": fmt.Sprint(c.Participants), "byzantine": fmt.Sprint(c.Byzantine),
		"model_hash": c.ModelHash,
		"height":     fmt.Sprint(c.Height), "app_hash": c.AppHash, "epsilon": "NO DP GUARANTEE", "card": string(c.encode()),
	}
	if c.Adapted != nil {
		s["epsilon"] += ": " + c.Adapted.Privacy
	} else if c.Epsilon != nil {
		s["epsilon"], s["delta"] = fmt.Sprint(*c.Epsilon), fmt.Sprint(c.Delta)
	}
	if c.TestChain {
		s["test_chain"] = "true"
	}
	if c.Accuracy != nil {
		s["accuracy"] = fmt.Sprint(*c.Accuracy)
	}
	return s
}

// shapeOf returns a shape as Python writes a tuple.
func shapeOf(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + ")"
}
