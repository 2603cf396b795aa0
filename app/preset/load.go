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
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return p, fmt.Errorf("%s: more than one JSON value", file)
	}
	return p, nil
}
