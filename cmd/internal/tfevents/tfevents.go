// Package tfevents writes scalars in the event format of TensorBoard: TFRecords, each with masked
// CRC32C sums, of the protobuf message tensorflow.Event.
package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer writes a file of events.
type Writer struct{ w io.Writer }

// Scalar is a value with its tag.
type Scalar struct {
	Tag   string
	Value float64
}

// The fields of tensorflow.Event, Summary and Summary.Value that scalars use.
const (
	fieldWallTime, fieldStep, fieldVersion, fieldSummary = 1, 2, 3, 5
	fieldValue                                           = 1
	fieldTag, fieldSimple                                = 1, 2
)

// New writes the event that begins a file.
func New(w io.Writer, at time.Time) (*Writer, error) {
	e := wallTime(at)
	e = protowire.AppendTag(e, fieldVersion, protowire.BytesType)
	e = protowire.AppendString(e, "brain.Event:2")
	t := &Writer{w}
	return t, t.record(e)
}

// Scalars writes an event for each finite value of a step, and none for the others.
func (t *Writer) Scalars(at time.Time, step int64, values []Scalar) error {
	var summary []byte
	for _, s := range values {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		var v []byte
		v = protowire.AppendTag(v, fieldTag, protowire.BytesType)
		v = protowire.AppendString(v, s.Tag)
		v = protowire.AppendTag(v, fieldSimple, protowire.Fixed32Type)
		v = protowire.AppendFixed32(v, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, fieldValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, v)
	}
	if summary == nil {
		return nil
	}
	e := wallTime(at)
	e = protowire.AppendTag(e, fieldStep, protowire.VarintType)
	e = protowire.AppendVarint(e, uint64(step))
	e = protowire.AppendTag(e, fieldSummary, protowire.BytesType)
	return t.record(protowire.AppendBytes(e, summary))
}

func wallTime(at time.Time) []byte {
	e := protowire.AppendTag(nil, fieldWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(e, math.Float64bits(float64(at.UnixNano())/1e9))
}

// record frames an event: its length, the sum of the length, the event, and its sum.
func (t *Writer) record(event []byte) error {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	out = binary.LittleEndian.AppendUint32(out, masked(out))
	out = append(out, event...)
	_, err := t.w.Write(binary.LittleEndian.AppendUint32(out, masked(event)))
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the CRC32C as TFRecord stores it. It is masked because a CRC of data that contains
// CRCs is weak.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
