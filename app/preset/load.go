package preset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spdl/spdl/app/params"
)

// Load reads a JSON file of parameters, as spdl query params prints them. Unknown fields are
// refused: a misspelt one must not become its zero value.
func Load(file string) (p params.Params, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	if err := DecodeStrict(data, &p); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// LoadModel reads a JSON file of a model, as parameters have it.
func LoadModel(file string) (m params.Model, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	if err := DecodeStrict(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// DecodeStrict decodes one JSON value without unknown fields.
func DecodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
