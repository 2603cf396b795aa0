package mnist_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

// TestLoadGroups: the file of groups beside the labels gives the training images their groups, in any
// order of its lines, and a part deals out whole groups.
func TestLoadGroups(t *testing.T) {
	dir := directory(t)
	write(t, filepath.Join(dir, "train-images-idx3-ubyte"), images(4, 1, 1, []byte{1, 2, 3, 4}))
	write(t, filepath.Join(dir, "train-labels-idx1-ubyte"), labels(5, 6, 7, 8))
	write(t, filepath.Join(dir, "t10k-images-idx3-ubyte"), images(1, 1, 1, []byte{9}))
	write(t, filepath.Join(dir, mnist.GroupsFile),
		[]byte("\ufeffimage, group\r\n3,ann\r\n\r\n 1 ,\"bob, jr\"\r\n0,ann \r\n2,1\r\n"))
	d, err := mnist.Load(dir)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 3}, {1}, {2}}, mnist.ByGroup(d.Train.Groups))
	require.Nil(t, d.Test.Groups)

	chosen := func(labels []uint8) ([]int, error) {
		require.Equal(t, []uint8{5, 6, 7}, labels, "each group by its first image")
		return []int{2, 0}, nil
	}
	part, err := mnist.LoadPart(dir, chosen)
	require.NoError(t, err)
	whole, err := d.Train.Part(chosen)
	require.NoError(t, err)
	require.Equal(t, whole, part)
	require.Equal(t, []uint8{3, 1, 4}, part.Images)
	require.Equal(t, [][]int{{0}, {1, 2}}, mnist.ByGroup(part.Groups))
}

// TestGroupsErrors: each fault of a file of groups is named with its line and the image, and no group's
// name is in the text.
func TestGroupsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   `line 1: the header is not "image,group"`,
		"image,secret\n0,a\n":                `line 1: the header is not "image,group"`,
		"image\n1\n":                         "line 1: 1 values, want an image and a group",
		"image,group\n3,secret\n":            `line 2: image "3", want the index of one of the 3 images, 0 to 2`,
		"image,group\n0,secret\n-1,secret\n": `line 3: image "-1", want the index`,
		"image,group\na.png,secret\n":        `line 2: image "a.png", want the index`,
		"image,group\n,secret\n":             `line 2: image "", want the index`,
		"image,group\n1,secret\n0,secret\n\n1,secret\n": "line 5: image 1 has a group in line 2 already",
		"image,group\n1,secret\n2,  \n":                 "line 3: the group of image 2 is empty",
		"image,group\n1,secret\n":                       "2 of 3 images have no line, the first of them is image 0",
		"image,group\n1,secret,secret\n":                "record on line 2: wrong number of fields",
		"image,group\n0,s\"ecret\n":                     `parse error on line 2, column 4: bare " in non-quoted`,
	} {
		_, err := mnist.DecodeGroups([]byte(text), 3)
		require.ErrorIs(t, err, mnist.ErrGroups, text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	dir := directory(t)
	path := filepath.Join(dir, mnist.GroupsFile)
	write(t, path, []byte("image,group\n0,a\n"))
	for _, load := range []func() error{
		func() error { _, err := mnist.Load(dir); return err },
		func() error { _, err := mnist.LoadPart(dir, of(0)); return err },
	} {
		err := load()
		require.ErrorIs(t, err, mnist.ErrGroups)
		require.ErrorContains(t, err, path+": ")
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err := mnist.Load(dir)
	require.ErrorContains(t, err, "not a regular file")
}
