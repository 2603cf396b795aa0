package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/strictjson"
)

// The format of github.com/huggingface/safetensors: the length of the header as 8 bytes little endian, the header as
// JSON, filled with spaces to a multiple of 8, and the data.

type safeTensor struct {
	Dtype   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

func encodeSafetensors(f *File, tensors []Tensor) []byte {
	header := map[string]any{"__metadata__": f.Card.summary()}
	var data []byte
	for _, t := range tensors {
		from := len(data)
		data = append(data, app.EncodeParameters(t.Data)...)
		header[t.Name] = safeTensor{Dtype: "F64", Shape: t.Shape, Offsets: [2]int{from, len(data)}}
	}
	text, err := json.Marshal(header) // with sorted keys
	if err != nil {
		panic(err) // JSON encodes texts and numbers without error
	}
	text = append(text, bytes.Repeat([]byte(" "), (8-len(text)%8)%8)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), data...)
}

func decodeSafetensors(file []byte) (*File, error) {
	size := binary.LittleEndian.Uint64(file)
	if size > uint64(len(file)-8) {
		return nil, fmt.Errorf("%w: safetensors header of %d bytes in a file of %d", ErrFile, size, len(file))
	}
	text, data := file[8:8+size], file[8+size:]
	if err := strictjson.Unique(text); err != nil {
		return nil, fmt.Errorf("%w: safetensors header: %w", ErrFile, err)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, fmt.Errorf("%w: safetensors header: %w", ErrFile, err)
	}
	var metadata map[string]string
	if err := json.Unmarshal(header["__metadata__"], &metadata); err != nil {
		return nil, fmt.Errorf("%w: safetensors metadata: %w", ErrFile, err)
	}
	return joined([]byte(metadata["card"]), func(t Tensor) ([]float64, error) {
		var s safeTensor
		if err := strictjson.Decode(header[t.Name], &s); err != nil {
			return nil, fmt.Errorf("%w: tensor %s: %w", ErrFile, t.Name, err)
		}
		if s.Dtype != "F64" || s.Offsets[0] < 0 || s.Offsets[0] > s.Offsets[1] || s.Offsets[1] > len(data) {
			return nil, fmt.Errorf("%w: tensor %s is %+v in %d bytes", ErrFile, t.Name, s, len(data))
		}
		return app.DecodeParameters(data[s.Offsets[0]:s.Offsets[1]])
	})
}
