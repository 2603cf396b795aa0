package mnist

import (
	"os"
	"path/filepath"
)

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
