package mnist_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

// directory writes the four files of a small set, those named in zipped compressed.
func directory(t *testing.T, zipped ...string) string {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"train-images-idx3-ubyte": images(2, 1, 2, []byte{1, 2, 3, 4}),
		"train-labels-idx1-ubyte": labels(5, 6),
		"t10k-images-idx3-ubyte":  images(1, 1, 2, []byte{7, 8}),
		"t10k-labels-idx1-ubyte":  labels(9),
	} {
		for _, z := range zipped {
			if name == z {
				name, content = name+".gz", zip(t, content)
			}
		}
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func write(t *testing.T, path string, content []byte) {
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestLoad(t *testing.T) {
	want := mnist.Data{
		Train: mnist.Set{Images: []uint8{1, 2, 3, 4}, Labels: []uint8{5, 6}, Rows: 1, Cols: 2},
		Test:  mnist.Set{Images: []uint8{7, 8}, Labels: []uint8{9}, Rows: 1, Cols: 2},
	}
	for _, zipped := range [][]string{
		nil,
		{"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
		{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
	} {
		got, err := mnist.Load(directory(t, zipped...))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestLoadOfBoth: a file and its .gz may both be there if they have the same content.
func TestLoadOfBoth(t *testing.T) {
	for _, c := range []struct {
		packed []byte
		agrees bool
	}{
		{zip(t, labels(5, 6)), true}, {labels(5, 6), true},
		{zip(t, labels(5, 7)), false}, {zip(t, labels(5, 6, 7)), false}, {zip(t, labels(5)), false}, {[]byte("x"), false},
	} {
		dir := directory(t)
		write(t, filepath.Join(dir, "train-labels-idx1-ubyte.gz"), c.packed)
		_, err := mnist.Load(dir)
		if c.agrees {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, mnist.ErrMismatch)
		require.ErrorContains(t, err, "train-labels-idx1-ubyte.gz have different content")
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		is    error
		says  string
	}{
		{"missing images", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "train-images-idx3-ubyte")))
		}, fs.ErrNotExist, "training set: mnist: neither "},
		{"missing labels", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "t10k-labels-idx1-ubyte")))
		}, fs.ErrNotExist, "test set: mnist: neither "},
		{"damaged", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "t10k-images-idx3-ubyte"), []byte("oops!"))
		}, mnist.ErrMagic, "test set: images: mnist: wrong magic number: 0x6f6f7073, want 0x00000803"},
		{"other shape", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "t10k-images-idx3-ubyte"), images(1, 2, 1, []byte{7, 8}))
		}, mnist.ErrMismatch, "mnist: parts do not match: training images of 1x2, test images of 2x1"},
		{"directory", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "train-images-idx3-ubyte")
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, fs.ErrInvalid, "not a regular file (d"},
		{"too large", func(t *testing.T, dir string) { // a sparse file: no disk is used
			require.NoError(t, os.Truncate(filepath.Join(dir, "train-labels-idx1-ubyte"), mnist.MaxPixels+17))
		}, mnist.ErrSize, " has 268435473 bytes, want at most 268435472"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := directory(t)
			c.spoil(t, dir)
			_, err := mnist.Load(dir)
			require.ErrorIs(t, err, c.is)
			assert.ErrorContains(t, err, c.says)
		})
	}
}
