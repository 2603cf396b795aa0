package mnist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds the size of a file that is read: the largest accepted content and its header, in
// bytes. An honest compressed file is never larger.
const maxFile = MaxPixels + 16

// Load reads a data set from the four files train-images-idx3-ubyte, train-labels-idx1-ubyte,
// t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte of a directory, each plain or with gzip and the
// suffix .gz, or both with the same content. Any set in MNIST's format will do, Fashion-MNIST for one. The
// training images have the groups of [GroupsFile], if there is one.
//
// Errors: those of [Decode] and [DecodeGroups], ErrMismatch if training and test images differ in shape or a file and
// its .gz in content, and the file system's (fs.ErrNotExist among them).
func Load(dir string) (Data, error) {
	return assemble(
		func() (Set, error) { return loadTrain(dir) },
		func() (Set, error) { return loadSet(dir, "t10k") },
	)
}

func loadTrain(dir string) (Set, error) {
	s, err := loadSet(dir, "train")
	if err != nil {
		return Set{}, err
	}
	s.Groups, err = loadGroups(dir, s.Len())
	return s, err
}

func loadSet(dir, prefix string) (Set, error) {
	images, labels, err := readSet(dir, prefix)
	if err != nil {
		return Set{}, err
	}
	return Decode(images, labels)
}

// readSet reads the two files of a set, as they are.
func readSet(dir, prefix string) (images, labels []byte, err error) {
	if images, err = readEither(filepath.Join(dir, prefix+"-images-idx3-ubyte")); err != nil {
		return nil, nil, err
	}
	labels, err = readEither(filepath.Join(dir, prefix+"-labels-idx1-ubyte"))
	return images, labels, err
}

// readEither reads path, or path.gz if path does not exist. If both exist, they must have the same content.
func readEither(path string) ([]byte, error) {
	plain, err := readBounded(path)
	packed, other := readBounded(path + ".gz")
	switch lacks, lacksOther := errors.Is(err, fs.ErrNotExist), errors.Is(other, fs.ErrNotExist); {
	case lacks && lacksOther:
		return nil, fmt.Errorf("mnist: neither %s nor %s.gz: %w", path, filepath.Base(path), fs.ErrNotExist)
	case lacks:
		return packed, other
	case err != nil || lacksOther:
		return plain, err
	case other != nil:
		return nil, other
	}
	c, err := openContent(packed)
	if err == nil && c.zip != nil {
		packed, err = io.ReadAll(io.LimitReader(c.zip, int64(len(plain))+1))
	}
	if err != nil || !bytes.Equal(plain, packed) {
		return nil, fmt.Errorf("%w: %s and %s.gz have different content: remove the wrong one", ErrMismatch, path,
			filepath.Base(path))
	}
	return plain, nil
}

// readBounded reads a regular file of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("mnist: %s: %w: not a regular file (%s)", path, fs.ErrInvalid, info.Mode().Type())
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%w: %s has %d bytes, want at most %d", ErrSize, path, info.Size(), maxFile)
	}
	return os.ReadFile(path)
}
