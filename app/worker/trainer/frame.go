package trainer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// protocol is the version of docs/TRAINER.md that this package speaks.
const protocol = 1

// The types of frames. A frame is its type, the length of its body as four bytes in
// little endian, and the body.
const (
	frameHello    = 'H' // both ways
	frameGradient = 'G' // to the trainer
	frameEvaluate = 'E' // both ways
	frameBye      = 'B' // to the trainer
	frameRows     = 'R' // from the trainer
	frameSum      = 'S' // from the trainer
	frameFault    = 'X' // from the trainer: why it cannot answer
)

// Bounds on the bodies of frames from a trainer.
const (
	maxText = 1 << 16  // of JSON and faults
	maxRows = 16 << 20 // bytes of a frame of rows, unless one row is longer
)

const headerBytes = 5

// fault is the text of a FAULT frame.
type fault string

func (f fault) Error() string { return fmt.Sprintf("it says: %.1000s", string(f)) }

func writeFrame(w io.Writer, kind byte, body []byte) error {
	header := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// readFrame reads a frame of the wanted type with a body of at most most bytes. It returns a FAULT
// frame as an error.
func readFrame(r *bufio.Reader, want byte, most int) ([]byte, error) {
	header := make([]byte, headerBytes)
	if n, err := io.ReadFull(r, header); err != nil {
		if n > 0 {
			return nil, fmt.Errorf("the answer ends after %q: %w", header[:n], err)
		}
		return nil, err
	}
	kind, length := header[0], uint64(binary.LittleEndian.Uint32(header[1:]))
	switch {
	case kind == frameFault && length <= maxText:
		text := make([]byte, length)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		return nil, fault(text)
	case kind != want:
		rest, _ := r.Peek(min(r.Buffered(), 40))
		return nil, fmt.Errorf("the answer begins with %q, want a frame of type %q: does the trainer print to its "+
			"standard output, which is the protocol's?",
			append(header, rest...), want)
	case length > uint64(most):
		return nil, fmt.Errorf("the answer is a frame of type %q of %d bytes, at most %d", kind, length, most)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// request returns the body of a GRADIENT frame: the number of indices, the indices, the parameters.
func request(x []float64, picked []int) []byte {
	body := make([]byte, 0, 4+4*len(picked)+8*len(x))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(picked)))
	for _, i := range picked {
		body = binary.LittleEndian.AppendUint32(body, uint32(i))
	}
	return appendFloats(body, x)
}

func appendFloats(body []byte, x []float64) []byte {
	for _, v := range x {
		body = binary.LittleEndian.AppendUint64(body, math.Float64bits(v))
	}
	return body
}
