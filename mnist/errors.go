package mnist

import "errors"

// Every error about bytes or settings from outside wraps one of these. Errors of the file system,
// which [Load] wraps unchanged, are the exception.
var (
	// ErrMagic means that the file does not begin with the magic number of its kind.
	ErrMagic = errors.New("mnist: wrong magic number")
	// ErrSize means that a header announces more, or less, than this package accepts.
	ErrSize = errors.New("mnist: size out of bounds")
	// ErrTruncated means that the content ends before the end that its header announces.
	ErrTruncated = errors.New("mnist: truncated")
	// ErrTrailing means that the content continues after the end that its header announces.
	ErrTrailing = errors.New("mnist: trailing bytes")
	// ErrGzip means that the compressed stream is damaged.
	ErrGzip = errors.New("mnist: corrupt gzip stream")
	// ErrLabel means that a label is not below the number of classes.
	ErrLabel = errors.New("mnist: label out of range")
	// ErrMismatch means that two parts that belong together differ in count or shape.
	ErrMismatch = errors.New("mnist: parts do not match")
	// ErrFeatures means that the feature map does not fit the images.
	ErrFeatures = errors.New("mnist: bad feature map")
	// ErrGroups means that a file of groups does not name one group for each image.
	ErrGroups = errors.New("mnist: bad groups")
	// ErrPartition means that the examples cannot be dealt out in the requested way.
	ErrPartition = errors.New("mnist: bad partition")
)
