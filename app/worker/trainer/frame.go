package trainer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/internal/printable"
)

// These are the protocol versions of PROTOCOL.md that this package speaks. The second version supports groups. In
// that version each question also has a number, so that an answer to an earlier question is detected.
const (
	protocolFirst  = 1
	protocolSecond = 2
)

// These are the types of frames. A frame consists of its type, the length of its body as four bytes
// in little endian, and the body.
const (
	frameHello    = 'H' // in both directions
	frameGradient = 'G' // to the trainer
	frameEvaluate = 'E' // in both directions
	framePredict  = 'P' // in both directions, from version 2
	frameGroups   = 'U' // in both directions, from version 2
	frameBye      = 'B' // to the trainer
	frameRows     = 'R' // from the trainer
	frameSum      = 'S' // from the trainer
	frameFault    = 'X' // from the trainer: the reason why the trainer cannot answer
)

// These are the max sizes of the bodies of frames from a trainer.
const (
	maxText = 1 << 16  // bytes of JSON, and of a fault's text
	maxRows = 16 << 20 // bytes of a frame of rows; a frame of a single row may exceed it
)

const (
	headerBytes = 5
	numberBytes = 4         // the size of a question's number, which frames have from version 2 on
	fromTrainer = "HEPURSX" // the types of the frames that a trainer sends
)

// fault is the text of a FAULT frame.
type fault string

func (f fault) Error() string { return "it says: " + quote(string(f)) }

// quote returns text from a trainer for an error or the log: at most 1000 characters, in one line.
func quote(text string) string { return printable.Line(fmt.Sprintf("%.1000s", text)) }

func writeFrame(w io.Writer, kind byte, body []byte) error {
	header := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// reply reads the frames of the answer to one question.
type reply struct {
	*bufio.Reader
	hasNumber bool   // whether each frame's body begins with the number of its question
	question  uint32 // the number of the question
	partial   string // an error text with the number of received rows, for a late rest; "" if there are none
}

// frame reads a frame of the wanted type, and returns its body without the number of the question. The limit maxBytes
// bounds the body in bytes. A FAULT frame and an answer to another question are errors.
func (r *reply) frame(want byte, maxBytes int) ([]byte, error) {
	header := make([]byte, headerBytes)
	if n, err := io.ReadFull(r, header); err != nil {
		if n > 0 {
			return nil, fmt.Errorf("the answer ends after %q: %w", header[:n], err)
		}
		return nil, err
	}
	kind, length := header[0], uint64(binary.LittleEndian.Uint32(header[1:]))
	if r.hasNumber && strings.IndexByte(fromTrainer, kind) >= 0 {
		if err := r.number(kind, length); err != nil {
			return nil, err
		}
		length -= numberBytes
	}
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
	case length > uint64(maxBytes):
		return nil, fmt.Errorf("the answer is a frame of type %q of %d bytes, at most %d", kind, length, maxBytes)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// number reads the number of the question that a frame answers. It fails with errQuestion if the
// number is not r.question.
func (r *reply) number(kind byte, length uint64) error {
	if length < numberBytes {
		return fmt.Errorf("the answer is a frame of type %q of %d bytes, want at least the %d of the question's number", kind,
			length, numberBytes)
	}
	var number [numberBytes]byte
	if _, err := io.ReadFull(r, number[:]); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(number[:]); n != r.question {
		return fmt.Errorf("%w: a frame of type %q names question %d, and question %d was asked", errQuestion, kind, n,
			r.question)
	}
	return nil
}

// errQuestion means that an answer does not have the number of the last question: the answer is
// late, it is a second answer, or the trainer does not repeat numbers.
var errQuestion = errors.New("the answer is to another question")

// gradientBody returns the body of a GRADIENT frame: the number of indices, the indices, and the parameters.
func gradientBody(x []float64, picked []int) []byte {
	body := make([]byte, 0, 4+4*len(picked)+8*len(x))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(picked)))
	return appendFloats(appendInts(body, picked), x)
}

// groupRequest returns the body of a GRADIENT frame for groups that the trainer clips: the number of groups, the number
// of all indices, the sizes of the groups, the indices group by group, and the parameters.
func groupRequest(x []float64, groups [][]int) []byte {
	sizes, all := make([]int, len(groups)), slices.Concat(groups...)
	for i, g := range groups {
		sizes[i] = len(g)
	}
	body := make([]byte, 0, 8+4*len(sizes)+4*len(all)+8*len(x))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(sizes)))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(all)))
	return appendFloats(appendInts(appendInts(body, sizes), all), x)
}

func appendInts(body []byte, values []int) []byte {
	for _, v := range values {
		body = binary.LittleEndian.AppendUint32(body, uint32(v))
	}
	return body
}

func appendFloats(body []byte, x []float64) []byte {
	for _, v := range x {
		body = binary.LittleEndian.AppendUint64(body, math.Float64bits(v))
	}
	return body
}
