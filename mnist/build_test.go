package mnist_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// idx returns an IDX file: a magic number, dimensions, and what follows.
func idx(magic uint32, dims []uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, magic)
	for _, dim := range dims {
		b = binary.BigEndian.AppendUint32(b, dim)
	}
	return append(b, payload...)
}

func images(n, rows, cols uint32, payload []byte) []byte {
	return idx(0x803, []uint32{n, rows, cols}, payload)
}

func labels(payload ...byte) []byte {
	return idx(0x801, []uint32{uint32(len(payload))}, payload)
}

// zip compresses b.
func zip(tb testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return out.Bytes()
}
