package preset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/strictjson"
)

// maxFile is the max size of a parameter file in bytes. It is above the size of a file with the largest valid model.
const maxFile = 1 << 20

// Load reads a JSON file of parameters, as spdl query params prints them.
func Load(file string) (params.Params, error) { return load[params.Params](file) }

// LoadModel reads a JSON file of a model, in the form of the model within parameters.
func LoadModel(file string) (params.Model, error) { return load[params.Model](file) }

// load reads a JSON file, also one that begins with the byte order mark of UTF-8, as some editors write it. It rejects
// unknown fields, because the value of a misspelt field would silently be zero.
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := strictjson.Decode(data, &value); err != nil {
		return value, fmt.Errorf("%s: %w", file, explained(data, err))
	}
	return value, nil
}

var errNoObject = errors.New("want a JSON object")

// explained returns the error of a JSON file with line and column, or says that the file holds something else.
func explained(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var at int64
	switch start := bytes.TrimSpace(data); {
	case len(start) == 0:
		return fmt.Errorf("the file is empty, %w", errNoObject)
	case start[0] != '{':
		line, _, _ := bytes.Cut(start, []byte("\n"))
		return fmt.Errorf("the file begins with %#.40q, %w", line, errNoObject)
	case errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax): // a Decoder's offset is not one of the file
		at, err = max(0, syntax.Offset-1), syntax
	case errors.As(err, &kind):
		at, err = max(0, kind.Offset-1), fmt.Errorf("%s: found %s, want %s", kind.Field, kind.Value,
			wanted(kind.Type.Kind()))
	default:
		return err
	}
	before := data[:at]
	return fmt.Errorf("line %d, column %d: %w", 1+bytes.Count(before, []byte("\n")),
		len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// wanted names what a field of a kind takes, in the words of JSON.
func wanted(kind reflect.Kind) string {
	return cmp.Or(map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false",
		reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object",
		reflect.Float64: "a number in its range"}[kind], "a whole number in its range")
}
