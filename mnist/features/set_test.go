package features_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

func TestStrokes(t *testing.T) {
	s := digits(t, 28, 600)
	var told []int
	f, err := features.Strokes(s, func(done int) error { told = append(told, done); return nil })
	require.NoError(t, err)
	assert.Len(t, told, 3)
	assert.IsIncreasing(t, told)
	assert.Equal(t, 600, told[2])
	assert.Equal(t, s.Labels, f.Labels)
	assert.Equal(t, features.Inputs, f.Inputs)

	m, err := features.New(28)
	require.NoError(t, err)
	row := make([]float32, features.Inputs)
	for i := range s.Len() {
		m.Row(row, s.Image(i))
		require.Equal(t, row, f.Row(i), "image %d", i)
	}
	before := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(before)
	again, err := features.Strokes(s, nil)
	require.NoError(t, err)
	assert.Equal(t, f, again)
}

func TestStrokesOfNothingAndOfOtherShapes(t *testing.T) {
	f, err := features.Strokes(mnist.Set{Rows: 28, Cols: 28}, nil)
	require.NoError(t, err)
	assert.Zero(t, f.Len())
	_, err = features.Strokes(mnist.Set{Rows: 28, Cols: 14}, nil)
	require.ErrorIs(t, err, mnist.ErrFeatures)
	assert.EqualError(t, err, "mnist: bad feature map: strokes of images of 28x14, want a square")
	_, err = features.Cached(t.TempDir(), mnist.Set{Rows: 4, Cols: 4}, nil)
	require.ErrorIs(t, err, mnist.ErrFeatures)
}

// TestProgressEnds: an error of progress ends the computation of a large set early, and no file is written.
func TestProgressEnds(t *testing.T) {
	s := digits(t, 28, 1)
	index := make([]int, 20_000)
	s = s.Subset(index)
	folder, over := t.TempDir(), errors.New("over")
	calls := 0
	_, err := features.Cached(folder, s, func(done int) error {
		calls++
		require.Less(t, done, s.Len()/10)
		return over
	})
	require.ErrorIs(t, err, over)
	require.Equal(t, 1, calls)
	require.Empty(t, files(t, folder))

	_, err = features.Cached(folder, digits(t, 28, 1), nil)
	require.NoError(t, err)
	_, err = features.Cached(folder, digits(t, 28, 1), func(int) error { return over })
	require.ErrorIs(t, err, over, "also from a file")
}

// files are the paths in a folder.
func files(t *testing.T, folder string) (paths []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	return paths
}

func TestCachedIsStrokes(t *testing.T) {
	folder, s := t.TempDir(), digits(t, 28, 300)
	want, err := features.Strokes(s, nil)
	require.NoError(t, err)
	for _, calls := range []int{2, 1} { // computed, then read
		var told []int
		got, err := features.Cached(folder, s, func(done int) error { told = append(told, done); return nil })
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Len(t, told, calls)
		assert.Equal(t, 300, told[calls-1])
	}
	require.Len(t, files(t, folder), 1)

	relabelled := s.Subset([]int{0})
	relabelled.Labels[0]++
	got, err := features.Cached(folder, relabelled, nil)
	require.NoError(t, err)
	assert.Equal(t, relabelled.Labels, got.Labels)
	assert.Equal(t, want.Row(0), got.Row(0))
	assert.Len(t, files(t, folder), 2, "another set has another file")
}

// Whatever is found in place of a cache, the features are right and the next call finds them.
func TestCachedTrustsNoDamagedFile(t *testing.T) {
	s := digits(t, 28, 3)
	want, err := features.Strokes(s, nil)
	require.NoError(t, err)
	clean, foreign := t.TempDir(), t.TempDir()
	_, err = features.Cached(clean, s, nil)
	require.NoError(t, err)
	good, err := os.ReadFile(files(t, clean)[0])
	require.NoError(t, err)
	assert.Len(t, good, 32+3*features.Inputs*4+32)
	_, err = features.Cached(foreign, s.Subset([]int{2, 1, 0}), nil)
	require.NoError(t, err)
	other, err := os.ReadFile(files(t, foreign)[0])
	require.NoError(t, err)

	for name, content := range map[string][]byte{
		"empty": {}, "short": good[:len(good)-1], "long": append(good[:len(good):len(good)], 0), "of another set": other,
		"flipped key": flipped(good, 0), "flipped value": flipped(good, 40), "flipped sum": flipped(good, len(good)-1),
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, filepath.Base(files(t, clean)[0]))
		require.NoError(t, os.WriteFile(path, content, 0o600))
		got, err := features.Cached(folder, s, nil)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, good, kept, name)
		assert.Len(t, files(t, folder), 1, name)
	}
}

func flipped(b []byte, at int) []byte {
	out := append([]byte(nil), b...)
	out[at] ^= 1
	return out
}

func TestCachedSaysWhereItCannotWrite(t *testing.T) {
	_, err := features.Cached(filepath.Join(t.TempDir(), "missing"), digits(t, 28, 1), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "features: cache: ")

	// A folder in place of the file: it can be neither read nor replaced, and nothing is left
	// beside it.
	folder, s := t.TempDir(), digits(t, 28, 1)
	_, err = features.Cached(folder, s, nil)
	require.NoError(t, err)
	path := files(t, folder)[0]
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = features.Cached(folder, s, nil)
	require.ErrorContains(t, err, "features: cache: ")
	assert.Equal(t, []string{path}, files(t, folder))
}

// Four hospitals share the training set; one of them prepares its part.
func ExampleStrokes() {
	data, err := mnist.Embedded()
	if err != nil {
		panic(err)
	}
	shards := mnist.PartitionIID(data.Train.Len(), 4, 1)
	mine, err := features.Strokes(data.Train.Subset(shards[0][:1000]), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(mine.Len(), "examples of", mine.Inputs, "inputs")
	// Output: 1000 examples of 160 inputs
}
