package mnist

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// The real MNIST, about 11 MB; source and licence in data/README.md.
var (
	//go:embed data/train-images-idx3-ubyte.gz
	trainImages []byte
	//go:embed data/train-labels-idx1-ubyte.gz
	trainLabels []byte
	//go:embed data/t10k-images-idx3-ubyte.gz
	testImages []byte
	//go:embed data/t10k-labels-idx1-ubyte.gz
	testLabels []byte
)

var embedded = sync.OnceValues(func() (Data, error) {
	return assemble(
		func() (Set, error) { return Decode(trainImages, trainLabels) },
		func() (Set, error) { return Decode(testImages, testLabels) },
	)
})

// Embedded returns the real MNIST: 60,000 training and 10,000 test images of 28x28. It is
// decompressed on the first call (about 0.2 s, 55 MB), cached, and shared by all callers, which
// must not write to it. [EmbeddedPart] and [EmbeddedTest] return less and cache nothing.
func Embedded() (Data, error) { return embedded() }

// assemble reads the two sets of a task and checks that they fit each other.
func assemble(train, test func() (Set, error)) (d Data, err error) {
	if d.Train, err = train(); err != nil {
		return Data{}, fmt.Errorf("training set: %w", err)
	}
	if d.Test, err = test(); err != nil {
		return Data{}, fmt.Errorf("test set: %w", err)
	}
	if d.Train.Rows != d.Test.Rows || d.Train.Cols != d.Test.Cols {
		return Data{}, fmt.Errorf("%w: training images of %dx%d, test images of %dx%d",
			ErrMismatch, d.Train.Rows, d.Train.Cols, d.Test.Rows, d.Test.Cols)
	}
	return d, nil
}

// Write writes the embedded MNIST to the folder data in a folder: the four IDX files, compressed by gzip.
func Write(dir string) error {
	dir = filepath.Join(dir, "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"train-images-idx3-ubyte.gz": trainImages, "train-labels-idx1-ubyte.gz": trainLabels,
		"t10k-images-idx3-ubyte.gz": testImages, "t10k-labels-idx1-ubyte.gz": testLabels,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
