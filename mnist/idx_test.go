package mnist_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

func TestDecode(t *testing.T) {
	pixels := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	plain, marks := images(2, 2, 3, pixels), labels(9, 0)
	for _, img := range [][]byte{plain, zip(t, plain)} {
		for _, lab := range [][]byte{marks, zip(t, marks)} {
			set, err := mnist.Decode(img, lab)
			require.NoError(t, err)
			assert.Equal(t, mnist.Set{Images: pixels, Labels: []uint8{9, 0}, Rows: 2, Cols: 3}, set)
			assert.Equal(t, 2, set.Len())
			assert.Equal(t, pixels[6:], set.Image(1))
		}
	}
}

func TestGzipMembersConcatenate(t *testing.T) { // RFC 1952, section 2.2
	whole := labels(1, 2, 3)
	got, err := mnist.DecodeLabels(append(zip(t, whole[:5]), zip(t, whole[5:])...))
	require.NoError(t, err)
	assert.Equal(t, []uint8{1, 2, 3}, got)
}

func TestClasses(t *testing.T) {
	require.Zero(t, mnist.Set{}.Classes())
	require.Equal(t, 1, mnist.Set{Labels: []uint8{0}}.Classes())
	require.Equal(t, 256, mnist.Set{Labels: []uint8{3, 255, 0}}.Classes())
}

// Hostile files. Each is refused with a message that says what, the value and the bound.
func TestDecodeImagesErrors(t *testing.T) {
	const huge = 0xffffffff
	small := images(1, 2, 2, []byte{1, 2, 3, 4})
	packed := zip(t, small)
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for _, c := range []struct {
		name string
		file []byte
		is   error
		want string
	}{
		{"empty", nil, mnist.ErrTruncated, "images: magic number: mnist: truncated: 0 bytes, want 4"},
		{"labels", labels(1), mnist.ErrMagic, "images: mnist: wrong magic number: 0x00000801, want 0x00000803"},
		{"other type", images(1, 1, 1, nil)[1:], mnist.ErrMagic,
			"images: mnist: wrong magic number: 0x00080300, want 0x00000803"},
		{"header only", small[:15], mnist.ErrTruncated, "images: dimensions: mnist: truncated: 11 bytes, want 12"},
		{"no images", images(0, 28, 28, nil), mnist.ErrSize,
			"images: mnist: size out of bounds: 0 examples, want 1 to 1048576"},
		{"no rows", images(1, 0, 28, nil), mnist.ErrSize, "images: mnist: size out of bounds: 0 pixels along one side, " +
			"want 1 to 1024"},
		{"no columns", images(1, 28, 0, nil), mnist.ErrSize, "images: mnist: size out of bounds: 0 pixels along one side, " +
			"want 1 to 1024"},
		{"huge count", images(huge, 28, 28, nil), mnist.ErrSize, "images: mnist: size out of bounds: 4294967295 examples, " +
			"want 1 to 1048576"},
		{"huge rows", images(1, huge, 1, nil), mnist.ErrSize, "images: mnist: size out of bounds: 4294967295 pixels along " +
			"one side, want 1 to 1024"},
		{"huge columns", images(1, 1, 1025, nil), mnist.ErrSize, "images: mnist: size out of bounds: 1025 pixels along " +
			"one side, want 1 to 1024"},
		{"overflow", images(huge, huge, huge, nil), mnist.ErrSize, "images: mnist: size out of bounds: 4294967295 " +
			"examples, want 1 to 1048576"},
		{"product", images(1<<20, 1<<10, 1<<10, nil), mnist.ErrSize, "images: mnist: size out of bounds: 1099511627776 " +
			"pixels, want at most 268435456"},
		{"truncated", small[:19], mnist.ErrTruncated, "images: 4 elements: mnist: truncated: 3 bytes, want 4"},
		{"trailing", append(bytes.Clone(small), 0), mnist.ErrTrailing,
			"images: 4 elements: mnist: trailing bytes: 5 bytes, want 4"},
		{"gzip: header", packed[:7], mnist.ErrGzip, "images: mnist: corrupt gzip stream: unexpected EOF"},
		{"gzip: nothing", zip(t, nil), mnist.ErrTruncated, "images: magic number: mnist: truncated: 0 bytes, want 4"},
		{"gzip: truncated", zip(t, small[:19]), mnist.ErrTruncated, "images: 4 elements: mnist: truncated: 3 bytes, want 4"},
		{"gzip: cut", packed[:len(packed)-9], mnist.ErrGzip,
			"images: 4 elements: mnist: corrupt gzip stream: unexpected EOF"},
		{"gzip: trailing", zip(t, append(bytes.Clone(small), 0)), mnist.ErrTrailing,
			"images: 4 elements: mnist: trailing bytes: more than 4 bytes"},
		{"gzip: checksum", flipped, mnist.ErrGzip, "images: 4 elements: mnist: corrupt gzip stream: gzip: invalid checksum"},
		{"gzip: garbage after", append(bytes.Clone(packed), "garbage, ten and more"...), mnist.ErrGzip,
			"images: 4 elements: mnist: corrupt gzip stream: gzip: invalid header"},
		{"gzip: block", append(bytes.Clone(packed[:10]), 0xff, 0xff), mnist.ErrGzip,
			"images: magic number: mnist: corrupt gzip stream: flate: corrupt input before offset 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := mnist.DecodeImages(c.file)
			require.ErrorIs(t, err, c.is)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestDecodeLabelsErrors(t *testing.T) {
	_, err := mnist.DecodeLabels(images(1, 1, 1, []byte{0}))
	require.ErrorIs(t, err, mnist.ErrMagic)
}

func TestDecodeErrors(t *testing.T) {
	img := images(2, 1, 1, []byte{1, 2})
	_, err := mnist.Decode(img, labels(1, 2, 3))
	require.ErrorIs(t, err, mnist.ErrMismatch)
	assert.EqualError(t, err, "mnist: parts do not match: 2 images, 3 labels")
	_, err = mnist.Decode(img[:5], labels(1, 2))
	require.ErrorIs(t, err, mnist.ErrTruncated)
	_, err = mnist.Decode(img, nil)
	require.ErrorIs(t, err, mnist.ErrTruncated)
}

// A header must not reserve memory that its file cannot fill, nor a small file inflate without end.
func TestHostileHeadersAllocateNothing(t *testing.T) {
	announced := images(1<<18, 32, 32, nil) // 256 MiB, within all bounds, in 16 bytes
	bomb := zip(t, append(images(1, 1, 1, nil), make([]byte, 64<<20)...))
	for name, file := range map[string][]byte{"plain": announced, "gzip": zip(t, announced), "bomb": bomb} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, _, err := mnist.DecodeImages(file)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

func FuzzDecodeImages(f *testing.F) {
	good := images(2, 1, 2, []byte{1, 2, 3, 4})
	f.Add(good)
	f.Add(zip(f, good))
	f.Add(images(1<<18, 32, 32, nil))
	f.Add(zip(f, images(1, 1, 1, make([]byte, 1000))))
	f.Fuzz(func(t *testing.T, b []byte) {
		pixels, rows, cols, err := mnist.DecodeImages(b)
		if err != nil {
			require.Nil(t, pixels)
			return
		}
		require.Positive(t, rows)
		require.Positive(t, cols)
		require.Zero(t, len(pixels)%(rows*cols))
		// What was read, written again, reads the same; a plain file byte for byte.
		again := images(uint32(len(pixels)/(rows*cols)), uint32(rows), uint32(cols), pixels)
		if binary.BigEndian.Uint32(b) == 0x803 {
			require.Equal(t, b, again)
		}
		pixelsAgain, rowsAgain, colsAgain, err := mnist.DecodeImages(again)
		require.NoError(t, err)
		require.Equal(t, pixels, pixelsAgain)
		require.Equal(t, []int{rows, cols}, []int{rowsAgain, colsAgain})
	})
}

func FuzzDecodeLabels(f *testing.F) {
	f.Add(labels(1, 2, 3))
	f.Add(zip(f, labels(9)))
	f.Add(labels(10))
	f.Fuzz(func(t *testing.T, b []byte) {
		marks, err := mnist.DecodeLabels(b)
		if err != nil {
			require.Nil(t, marks)
			return
		}
		again, err := mnist.DecodeLabels(labels(marks...))
		require.NoError(t, err)
		require.Equal(t, marks, again)
	})
}
