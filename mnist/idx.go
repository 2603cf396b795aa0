package mnist

import (
	"encoding/binary"
	"fmt"
)

// Magic numbers of the IDX format consist of two zero bytes, the element type (8: unsigned byte)
// and the number of dimensions.
const (
	magicImages = 0x00000803
	magicLabels = 0x00000801
)

// These are the bounds on the sizes in a header. MNIST has 60,000 images of 28x28, 47 million pixels.
const (
	MaxExamples = 1 << 20
	MaxSide     = 1 << 10 // pixels in one row, and rows in one image
	MaxPixels   = 1 << 28 // of all images together, in bytes
)

// DecodeImages reads an IDX image file, plain or gzip: n*rows*cols grey levels, row-major, and the shape of one image.
// The pixels share memory with b if b is not compressed. It allocates at most the announced size, and that only after
// checking it against the bounds above and against what b can hold.
//
// Errors: ErrMagic, ErrSize, ErrTruncated, ErrTrailing, ErrGzip.
// Source: http://yann.lecun.com/exdb/mnist/, "the IDX file format".
func DecodeImages(b []byte) (pixels []uint8, rows, cols int, err error) {
	pixels, dims, err := decode(b, magicImages)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("images: %w", err)
	}
	return pixels, dims[1], dims[2], nil
}

// DecodeLabels reads an IDX label file, plain or gzip: one label, a byte, per example. The labels
// share memory with b if b is not compressed. The number of classes is up to the model.
//
// Errors: those of [DecodeImages].
func DecodeLabels(b []byte) ([]uint8, error) {
	labels, _, err := decode(b, magicLabels)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	return labels, nil
}

// Decode reads an image file and the label file that belongs to it.
//
// Errors: those of [DecodeImages] and [DecodeLabels], and ErrMismatch if their counts differ.
func Decode(images, labels []byte) (Set, error) {
	pixels, rows, cols, err := DecodeImages(images)
	if err != nil {
		return Set{}, err
	}
	marks, err := DecodeLabels(labels)
	if err != nil {
		return Set{}, err
	}
	if n := len(pixels) / (rows * cols); n != len(marks) {
		return Set{}, fmt.Errorf("%w: %d images, %d labels", ErrMismatch, n, len(marks))
	}
	return Set{Images: pixels, Labels: marks, Rows: rows, Cols: cols}, nil
}

// decode reads one IDX file of unsigned bytes and returns its elements and dimensions.
func decode(b []byte, magic uint32) (payload []byte, dims []int, err error) {
	src, dims, total, err := open(b, magic)
	if err != nil {
		return nil, nil, err
	}
	payload, err = src.rest(total)
	if err != nil {
		return nil, nil, fmt.Errorf("%d elements: %w", total, err)
	}
	return payload, dims, nil
}

// open reads the header of an IDX file of unsigned bytes. It returns the content after the header,
// the dimensions and their product.
func open(b []byte, magic uint32) (src *content, dims []int, total int64, err error) {
	if src, err = openContent(b); err != nil {
		return nil, nil, 0, err
	}
	head := make([]byte, 4, 16)
	if err := src.fill(head); err != nil {
		return nil, nil, 0, fmt.Errorf("magic number: %w", err)
	}
	if got := binary.BigEndian.Uint32(head); got != magic {
		return nil, nil, 0, fmt.Errorf("%w: %#08x, want %#08x", ErrMagic, got, magic)
	}
	head = head[:4*(magic&0xff)]
	if err := src.fill(head); err != nil {
		return nil, nil, 0, fmt.Errorf("dimensions: %w", err)
	}
	dims, total, err = dimensions(head)
	return src, dims, total, err
}

// dimensions reads big-endian dimensions and returns them with their product. No product of
// accepted dimensions overflows: MaxExamples*MaxSide*MaxSide is 2^40.
func dimensions(head []byte) (dims []int, total int64, err error) {
	total = 1
	for i := 0; i < len(head); i += 4 {
		name, bound := "examples", uint32(MaxExamples)
		if i > 0 {
			name, bound = "pixels along one side", MaxSide
		}
		dim := binary.BigEndian.Uint32(head[i:])
		if dim < 1 || dim > bound {
			return nil, 0, fmt.Errorf("%w: %d %s, want 1 to %d", ErrSize, dim, name, bound)
		}
		dims = append(dims, int(dim))
		total *= int64(dim)
	}
	if total > MaxPixels {
		return nil, 0, fmt.Errorf("%w: %d pixels, want at most %d", ErrSize, total, MaxPixels)
	}
	return dims, total, nil
}
