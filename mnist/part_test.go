package mnist_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

// of returns a part that is always the same examples.
func of(index ...int) mnist.Part { return func([]uint8) ([]int, error) { return index, nil } }

func TestAPartIsTheSubsetOfTheWhole(t *testing.T) {
	pixels := images(3, 1, 2, []byte{1, 2, 3, 4, 5, 6})
	for _, content := range [][]byte{pixels, zip(t, pixels)} {
		whole, err := mnist.Decode(content, labels(7, 8, 9))
		require.NoError(t, err)
		for _, index := range [][]int{{}, {0}, {2, 0}, {1, 2, 0}, {1, 1}} {
			part, err := mnist.DecodePart(content, labels(7, 8, 9), of(index...))
			require.NoError(t, err)
			assert.Equal(t, whole.Subset(index), part, "%v", index)
		}
	}
}

func TestAPartIsChosenByTheLabels(t *testing.T) {
	part, err := mnist.EmbeddedPart(func(labels []uint8) ([]int, error) {
		return mnist.PartitionIID(len(labels), 600, 3)[599], nil
	})
	require.NoError(t, err)
	whole, err := mnist.Embedded()
	require.NoError(t, err)
	assert.Equal(t, whole.Train.Subset(mnist.PartitionIID(60_000, 600, 3)[599]), part)
	test, err := mnist.EmbeddedTest()
	require.NoError(t, err)
	assert.Equal(t, whole.Test, test)
}

// TestPartsFailAsTheWholeDoes: who reads a part hears of damage behind it, too.
func TestPartsFailAsTheWholeDoes(t *testing.T) {
	pixels := images(2, 1, 2, []byte{1, 2, 3, 4})
	zipped := zip(t, pixels)
	broken := append([]byte{}, zipped...)
	broken[len(broken)-8] ^= 1 // gzip's checksum
	for name, c := range map[string]struct{ images, labels []byte }{
		"cut":             {pixels[:len(pixels)-1], labels(1, 2)},
		"longer":          {append(pixels[:len(pixels):len(pixels)], 0), labels(1, 2)},
		"another kind":    {labels(1, 2), labels(1, 2)},
		"counts":          {pixels, labels(1)},
		"cut zip":         {zipped[:len(zipped)-9], labels(1, 2)},
		"longer zip":      {zip(t, append(pixels[:len(pixels):len(pixels)], 0)), labels(1, 2)},
		"short zip":       {zip(t, pixels[:len(pixels)-1]), labels(1, 2)},
		"checksum":        {broken, labels(1, 2)},
		"more than a zip": {zip(t, images(1<<20, 8, 8, nil)), labels(1, 2)},
	} {
		_, want := mnist.Decode(c.images, c.labels)
		require.Error(t, want, name)
		part, err := mnist.DecodePart(c.images, c.labels, of(0))
		require.Error(t, err, name)
		for _, sentinel := range []error{mnist.ErrMagic, mnist.ErrTruncated, mnist.ErrTrailing, mnist.ErrGzip,
			mnist.ErrMismatch} {
			assert.Equal(t, errors.Is(want, sentinel), errors.Is(err, sentinel), "%s: %v", name, err)
		}
		assert.Zero(t, part, name)
	}
	refused := errors.New("refused")
	_, err := mnist.DecodePart(pixels, labels(1, 2), func([]uint8) ([]int, error) { return nil, refused })
	require.ErrorIs(t, err, refused)
}

func TestLoadPartReadsTheTrainingSetAlone(t *testing.T) {
	dir := directory(t, "train-images-idx3-ubyte")
	require.NoError(t, os.Remove(filepath.Join(dir, "t10k-images-idx3-ubyte")))
	part, err := mnist.LoadPart(dir, of(1))
	require.NoError(t, err)
	assert.Equal(t, mnist.Set{Images: []uint8{3, 4}, Labels: []uint8{6}, Rows: 1, Cols: 2}, part)
	_, err = mnist.LoadTest(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = mnist.LoadPart(t.TempDir(), of(0))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestPartOfGroups: a part of a set with groups chooses whole groups, in the order of their first
// examples, by the label of that example.
func TestPartOfGroups(t *testing.T) {
	s := mnist.Set{Images: []uint8{10, 11, 12, 13, 14}, Labels: []uint8{1, 0, 1, 2, 0}, Rows: 1, Cols: 1,
		Groups: []uint32{7, 3, 7, 5, 3}}
	require.Equal(t, [][]int{{0, 2}, {1, 4}, {3}}, mnist.ByGroup(s.Groups))
	part, err := s.Part(func(labels []uint8) ([]int, error) {
		require.Equal(t, []uint8{1, 0, 2}, labels)
		return []int{2, 1}, nil
	})
	require.NoError(t, err)
	require.Equal(t, mnist.Set{Images: []uint8{13, 11, 14}, Labels: []uint8{2, 0, 0}, Rows: 1, Cols: 1,
		Groups: []uint32{5, 3, 3}}, part)
	failed := errors.New("no such part")
	_, err = s.Part(func([]uint8) ([]int, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
	s.Groups = nil
	part, err = s.Part(func([]uint8) ([]int, error) { return []int{4}, nil })
	require.NoError(t, err)
	require.Equal(t, []uint8{14}, part.Images)
	_, err = s.Part(func([]uint8) ([]int, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
}
