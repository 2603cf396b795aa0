package modelfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/spdl/spdl/app"
)

// NumPy's archive: a zip of arrays in the format of numpy.lib.format, version 2.0. The card is an array without
// dimensions that holds one byte string: json.loads(numpy.load(file)["card"].item()).

func encodeNPZ(f *File, tensors []Tensor) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if err := addArray(z, "card", "|S", "()", f.Card.encode()); err != nil {
		return nil, err
	}
	for _, t := range tensors {
		if err := addArray(z, t.Name, "<f8", shapeOf(t.Shape), app.EncodeParameters(t.Data)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

// addArray stores an array uncompressed: noisy parameters do not compress.
func addArray(z *zip.Writer, name, dtype, shape string, data []byte) error {
	body := append(arrayHeader(dtype, shape, len(data)), data...)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: name + ".npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(body),
		CompressedSize64: uint64(len(body)), UncompressedSize64: uint64(len(body)),
	})
	if err == nil {
		_, err = w.Write(body)
	}
	return err
}

// arrayHeader returns a header of version 2.0, padded to a multiple of 64 bytes.
func arrayHeader(dtype, shape string, size int) []byte {
	if dtype == "|S" {
		dtype = fmt.Sprintf("|S%d", size)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", dtype, shape)
	const before = 12
	text += strings.Repeat(" ", (64-(before+len(text)+1)%64)%64) + "\n"
	out := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(text)))...)
	return append(out, text...)
}

func decodeNPZ(file []byte) (*File, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: npz: %w", ErrFile, err)
	}
	data, err := readArray(z, "card", "|S", "()", len(file))
	if err != nil {
		return nil, err
	}
	return joined(data, func(t Tensor) ([]float64, error) {
		data, err := readArray(z, t.Name, "<f8", shapeOf(t.Shape), 8*len(t.Data))
		if err != nil {
			return nil, err
		}
		return app.DecodeParameters(data)
	})
}

// readArray reads an array of a type and a shape, "()" or "(2, 3)". Its header must be the one that addArray writes,
// and NumPy writes others. The parameter most bounds the size, because a small archive may expand to a large array,
// once for each of a thousand tensors.
func readArray(z *zip.Reader, name, dtype, shape string, most int) ([]byte, error) {
	var body []byte
	r, err := z.Open(name + ".npy")
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(r, int64(len(arrayHeader(dtype, shape, most))+most+1)))
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: array %s: %w", ErrFile, name, err)
	}
	at := bytes.IndexByte(body, '\n') + 1
	if data := body[at:]; len(data) <= most && bytes.Equal(body[:at], arrayHeader(dtype, shape, len(data))) {
		return data, nil
	}
	return nil, fmt.Errorf("%w: array %s has another header or size than spdl writes: another program, as numpy.savez, "+
		"wrote the archive again, and only the bytes of spdl model export are verified", ErrFile, name)
}
