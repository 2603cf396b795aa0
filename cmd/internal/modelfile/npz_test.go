package modelfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		head, data, ok := splitArray(body)
		require.True(t, ok)
		head, data = change(strings.TrimSuffix(f.Name, ".npy"), strings.TrimSpace(head), data)
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

// TestNumPyRewrites: a file that NumPy has written again is rejected, and the error says what differs:
// the archive alone, or an array.
func TestNumPyRewrites(t *testing.T) {
	file, err := unproven(own).Encode(NPZ)
	require.NoError(t, err)
	_, _, err = Decode(rewritten(t, file, func(_, head string, data []byte) (string, []byte) { return head, data }))
	require.ErrorIs(t, err, ErrFile)
	require.ErrorContains(t, err, "its card and tensors are whole, but array 1 is conv1.bias, want card: another "+
		"program, as numpy.savez, wrote the archive again")
	const one = "conv1.weight"
	for want, change := range map[string]func(head string, data []byte) (string, []byte){
		"array conv1.weight is of type <f4, want <f8": func(head string, data []byte) (string, []byte) {
			return strings.Replace(head, "<f8", "<f4", 1), data[:len(data)/2]
		},
		"array conv1.weight has the shape (18,), want (2, 1, 3, 3)": func(head string, data []byte) (string, []byte) {
			return strings.Replace(head, "(2, 1, 3, 3)", "(18,)", 1), data
		},
		"array conv1.weight is in Fortran order": func(head string, data []byte) (string, []byte) {
			return strings.Replace(head, "False", "True", 1), data
		},
		"array conv1.weight is missing": func(string, []byte) (string, []byte) { return "", nil },
		"array conv1.weight has no header of NumPy's format": func(head string, data []byte) (string, []byte) {
			return strings.Replace(head, "'shape'", "'size'", 1), data
		},
		"array conv1.weight has more than 144 bytes": func(head string, data []byte) (string, []byte) {
			return head, append(data, make([]byte, 8)...)
		},
	} {
		_, _, err := Decode(rewritten(t, file, func(name, head string, data []byte) (string, []byte) {
			if name == one {
				return change(head, data)
			}
			return head, data
		}))
		require.ErrorIs(t, err, ErrFile)
		require.ErrorContains(t, err, want)
	}
}
