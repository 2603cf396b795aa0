package modelfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/spdl/spdl/app"
)

// NumPy's archive: a zip of arrays in the format of numpy.lib.format, version
// 2.0. The card is an array without dimensions that holds one byte string:
// json.loads(numpy.load(file)["card"].item()).

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

// maxArrayHeader is the max size of an array's header, in bytes: ours have less than a hundred, and
// those of NumPy a few more.
const maxArrayHeader = 4096

// readArray reads an array of a type and a shape, "()" or "(2, 3)", from our header or from one that
// NumPy writes. The parameter most bounds the size, because a small archive may expand to a large
// array, once for each of a thousand tensors.
func readArray(z *zip.Reader, name, dtype, shape string, most int) ([]byte, error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("%w: array %s %w", ErrFile, name, fmt.Errorf(format, args...))
	}
	r, err := z.Open(name + ".npy")
	if errors.Is(err, fs.ErrNotExist) {
		return fail("is missing")
	} else if err != nil {
		return fail("cannot be read: %w", err)
	}
	defer func() { _ = r.Close() }()
	body, err := io.ReadAll(io.LimitReader(r, int64(maxArrayHeader+most+1)))
	if err != nil {
		return fail("cannot be read: %w", err)
	}
	head, data, ok := splitArray(body)
	found := map[string]string{}
	for _, m := range arrayField.FindAllStringSubmatch(head, -1) {
		found[m[1]] = strings.ReplaceAll(strings.Trim(m[2], "'"), " ", "")
	}
	if !ok || len(found) != 3 {
		return fail("has no header of NumPy's format 1.0 to 3.0 with descr, fortran_order and shape")
	}
	if dtype == "|S" {
		dtype = fmt.Sprintf("|S%d", len(data))
	}
	want := strings.ReplaceAll(shape, " ", "")
	switch {
	case found["descr"] != dtype:
		return fail("is of type %s, want %s", found["descr"], dtype)
	case found["shape"] != want:
		return fail("has the shape %s, want %s", found["shape"], shape)
	case found["fortran_order"] != "False" && strings.Count(want, ",") > 1:
		return fail("is in Fortran order, want C order: numpy.ascontiguousarray makes it")
	case len(data) > most:
		return fail("has more than %d bytes", most)
	}
	return data, nil
}

// arrayField matches an entry of a header, a literal of a Python dictionary.
var arrayField = regexp.MustCompile(`'(descr|fortran_order|shape)': ('[^']*'|True|False|\([0-9, ]*\))`)

// splitArray returns the header and the data of an array file.
func splitArray(body []byte) (head string, data []byte, ok bool) {
	const magic = "\x93NUMPY"
	if len(body) < 12 || string(body[:6]) != magic || body[6] < 1 || body[6] > 3 || body[7] != 0 {
		return "", nil, false
	}
	from, size := 12, int64(binary.LittleEndian.Uint32(body[8:]))
	if body[6] == 1 {
		from, size = 10, int64(binary.LittleEndian.Uint16(body[8:]))
	}
	if size > maxArrayHeader || int64(from)+size > int64(len(body)) {
		return "", nil, false
	}
	return string(body[from : from+int(size)]), body[from+int(size):], true
}

// archiveDiffers says in what an archive with the right arrays differs from the one that encodeNPZ
// writes: names, order, compression or a header. It returns "" if it is none of these.
func archiveDiffers(want, got []byte) string {
	a, errA := zip.NewReader(bytes.NewReader(want), int64(len(want)))
	b, errB := zip.NewReader(bytes.NewReader(got), int64(len(got)))
	if errA != nil || errB != nil {
		return ""
	}
	if len(a.File) != len(b.File) {
		return fmt.Sprintf("it has %d arrays, want %d", len(b.File), len(a.File))
	}
	for i, f := range b.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		switch {
		case f.Name != a.File[i].Name:
			return fmt.Sprintf("array %d is %s, want %s", i+1, name, strings.TrimSuffix(a.File[i].Name, ".npy"))
		case f.Method != zip.Store:
			return fmt.Sprintf("array %s is compressed", name)
		case f.CRC32 != a.File[i].CRC32:
			return fmt.Sprintf("array %s has another header", name)
		}
	}
	return ""
}
