package mnist

import "errors"

// Errors in bytes or settings that came from outside. Every error of this package wraps one of
// these, except those of the file system, which [Load] wraps as they are.
var (
	// ErrMagic: the file does not begin with the magic number of its kind.
	ErrMagic = errors.New("mnist: wrong magic number")
	// ErrSize: a header announces more, or less, than this package accepts.
	ErrSize = errors.New("mnist: size out of bounds")
	// ErrTruncated: the content ends before what its header announces.
	ErrTruncated = errors.New("mnist: truncated")
	// ErrTrailing: the content goes on after what its header announces.
	ErrTrailing = errors.New("mnist: trailing bytes")
	// ErrGzip: the compressed stream is damaged.
	ErrGzip = errors.New("mnist: corrupt gzip stream")
	// ErrLabel: a label is not below the number of classes.
	ErrLabel = errors.New("mnist: label out of range")
	// ErrMismatch: two parts that belong together differ in count or shape.
	ErrMismatch = errors.New("mnist: parts do not match")
	// ErrFeatures: the feature map does not fit the images.
	ErrFeatures = errors.New("mnist: bad feature map")
	// ErrGroups: a file of groups does not name one group for each image.
	ErrGroups = errors.New("mnist: bad groups")
	// ErrPartition: the examples cannot be dealt out as asked.
	ErrPartition = errors.New("mnist: bad partition")
)
