package preset

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/strictjson"
)

// maxFile is the max size of a parameter file in bytes. It is above the size of a file with the largest valid model.
const maxFile = 1 << 20

// Load reads a JSON file of parameters, as spdl query params prints them.
func Load(file string) (params.Params, error) { return load[params.Params](file) }

// LoadModel reads a JSON file of a model, in the form of the model within parameters.
func LoadModel(file string) (params.Model, error) { return load[params.Model](file) }

// load reads a JSON file. It rejects unknown fields, because the value of a misspelt field would silently be zero.
func load[T any](file string) (value T, err error) {
	f, err := os.Open(file)
	if err != nil {
		return value, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return value, err
	}
	if len(data) > maxFile {
		return value, fmt.Errorf("%s: more than %d bytes", file, maxFile)
	}
	if err := strictjson.Decode(data, &value); err != nil {
		return value, fmt.Errorf("%s: %w", file, err)
	}
	return value, nil
}
