package internal_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// rewritten returns an archive as numpy.savez_compressed writes it: with headers of version 1.0, in
// another order and compressed. change may change the header and the data of an array.
func rewritten(t *testing.T, file []byte, change func(name, head string, data []byte) (string, []byte)) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range z.File {
		f := z.File[len(z.File)-1-i]
		r, err := f.Open()
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		header, data, ok := bytes.Cut(body[12:], []byte("\n"))
		require.True(t, ok)
		head, data := change(strings.TrimSuffix(f.Name, ".npy"), strings.TrimSpace(string(header)), data)
		if head == "" {
			continue
		}
		head += strings.Repeat(" ", (64-(10+len(head)+1)%64)%64) + "\n"
		to, err := w.Create(f.Name)
		require.NoError(t, err)
		_, err = to.Write(append(append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil,
			uint16(len(head)))...), append([]byte(head), data...)...))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestNumPyRewrites: a file that NumPy has written again is rejected, and the error names an array with another
// header, or one that is missing.
func TestNumPyRewrites(t *testing.T) {
	file, err := unproven(own).Encode(modelfile.NPZ)
	require.NoError(t, err)
	again := func(without string) []byte {
		return rewritten(t, file, func(name, head string, data []byte) (string, []byte) {
			if name == without {
				head = ""
			}
			return head, data
		})
	}
	for want, other := range map[string][]byte{
		"array card has another header or size than spdl writes": again(""),
		"array card: open card.npy: file does not exist":         again("card"),
	} {
		_, _, err = modelfile.Decode(other)
		require.ErrorIs(t, err, modelfile.ErrFile)
		require.ErrorContains(t, err, want)
	}
}

// TestForgedArrays: an array of another type, shape, order or size than the card's model has is rejected by its name.
func TestForgedArrays(t *testing.T) {
	f := unproven(own)
	for name, change := range map[string]func(body []byte) []byte{
		"type":  func(body []byte) []byte { return bytes.Replace(body, []byte("<f8"), []byte("<f4"), 1) },
		"shape": func(body []byte) []byte { return bytes.Replace(body, []byte("(2, 1"), []byte("(1, 2"), 1) },
		"order": func(body []byte) []byte { return bytes.Replace(body, []byte("False"), []byte("True "), 1) },
		"size":  func(body []byte) []byte { return append(body, make([]byte, 8)...) },
		"none":  func([]byte) []byte { return nil },
	} {
		file, err := f.Encode(modelfile.NPZ)
		require.NoError(t, err)
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(t, err)
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range z.File {
			r, err := f.Open()
			require.NoError(t, err)
			body, err := io.ReadAll(r)
			require.NoError(t, err)
			if f.Name == "conv1.weight.npy" {
				body = change(body)
			}
			to, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
			require.NoError(t, err)
			_, err = to.Write(body)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		_, _, err = modelfile.Decode(out.Bytes())
		require.ErrorIs(t, err, modelfile.ErrFile, name)
		require.ErrorContains(t, err, "conv1.weight", name)
	}
}
