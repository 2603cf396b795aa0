package modelfile

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spdl/spdl/internal/strictjson"
)

type jsonFile struct {
	Card    json.RawMessage `json:"card"`
	Tensors []jsonTensor    `json:"tensors"`
}

type jsonTensor struct {
	Name  string    `json:"name"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"` // row-major, in the shortest form that gives the same float64
}

func encodeJSON(f *File, tensors []Tensor) ([]byte, error) {
	out := jsonFile{Card: f.Card.encode()}
	for _, t := range tensors {
		for i, x := range t.Data {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%s[%d] is %v, which JSON cannot say: take another format", t.Name, i, x)
			}
		}
		out.Tensors = append(out.Tensors, jsonTensor(t))
	}
	card := out.Card
	tensorText, err := json.Marshal(out.Tensors)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\n\"card\": %s,\n\"tensors\": %s\n}\n", card, tensorText), nil
}

func decodeJSON(file []byte) (*File, error) {
	var in jsonFile
	if err := strictjson.Decode(file, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	card, err := decodeCard(in.Card)
	if err != nil {
		return nil, err
	}
	parameters, err := joined(card.Model, func(t Tensor) ([]float64, error) {
		for _, x := range in.Tensors {
			if x.Name == t.Name {
				return x.Data, nil
			}
		}
		return nil, fmt.Errorf("%w: no tensor %s", ErrFile, t.Name)
	})
	return &File{Card: card, Parameters: parameters}, err
}
