package features

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/mnist"
)

// Cached returns what [Strokes] returns, and keeps it in a file of the folder, 640 bytes an image,
// from which the next call reads it. The file is named after the images and the map. A file that is
// damaged, or not what its name says, is replaced by a new computation. Its checksum protects
// against accidents, not against those who can write to the folder.
//
// It fails as Strokes does, and if the file cannot be written.
func Cached(folder string, s mnist.Set, progress func(done int)) (mnist.Features, error) {
	key := Key(s)
	path := filepath.Join(folder, fmt.Sprintf("%s-%x.bin", Name, key[:16]))
	if content, err := os.ReadFile(path); err == nil {
		if x, ok := decodeCache(content, key, s.Len()*Inputs); ok {
			if progress != nil {
				progress(s.Len())
			}
			return mnist.Features{X: x, Labels: s.Labels, Inputs: Inputs}, nil
		}
	}
	f, err := Strokes(s, progress)
	if err != nil {
		return mnist.Features{}, err
	}
	if err := replace(path, encodeCache(f.X, key)); err != nil {
		return mnist.Features{}, fmt.Errorf("features: cache: %w", err)
	}
	return f, nil
}

// Key returns the hash of all that the features of a set depend on. Labels are no part of it.
func Key(s mnist.Set) [sha256.Size]byte {
	h := sha256.New()
	recipe := Hash()
	h.Write(recipe[:])
	for _, v := range []int{s.Len(), s.Rows, s.Cols} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	}
	h.Write(s.Images)
	return [sha256.Size]byte(h.Sum(nil))
}

// encodeCache returns the key, the features as little endian float32 values, and the SHA-256 of
// both.
func encodeCache(x []float32, key [sha256.Size]byte) []byte {
	out := append(make([]byte, 0, len(key)+4*len(x)+sha256.Size), key[:]...)
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// decodeCache is the inverse of encodeCache. It reports whether the content is whole and made for
// the key.
func decodeCache(content []byte, key [sha256.Size]byte, values int) (x []float32, ok bool) {
	if len(content) != len(key)+4*values+sha256.Size || !bytes.HasPrefix(content, key[:]) {
		return nil, false
	}
	body, sum := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return nil, false
	}
	x = make([]float32, values)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[len(key)+4*i:]))
	}
	return x, true
}

// replace puts content at path in one step. It does not wait for the disk: a file that a power cut
// leaves half written fails its checksum.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+Name+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
