package features

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/mnist"
)

// Cached returns the result of [Strokes], and caches it in a file of the folder, with 640 bytes an
// image, which the next call reads. The hash of the images and the map is the file's name. If a
// file is damaged or does not match its name, Cached computes its content again and replaces it.
// The file's checksum protects against accidents, not against attackers that can write to the
// folder.
//
// It fails for the reasons of Strokes, and if the file cannot be written.
func Cached(folder string, s mnist.Set, progress func(done int) error) (mnist.Features, error) {
	key := Key(s)
	path := filepath.Join(folder, fmt.Sprintf("%s-%x.bin", Name, key[:16]))
	if x, ok := read(path, key, s.Len()); ok {
		if progress != nil {
			if err := progress(s.Len()); err != nil {
				return mnist.Features{}, err
			}
		}
		return mnist.Features{X: x, Labels: s.Labels, Inputs: Inputs, Groups: s.Groups}, nil
	}
	f, err := Strokes(s, progress)
	if err != nil {
		return mnist.Features{}, err
	}
	if err := replace(path, f.X, key); err != nil {
		return mnist.Features{}, fmt.Errorf("features: cache: %w", err)
	}
	return f, nil
}

// Key returns the hash of everything that the features of a set depend on. Labels are not part of
// it.
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

// writeCache writes the key, the features as little endian float32 values, and the SHA-256 of both.
func writeCache(w io.Writer, x []float32, key [sha256.Size]byte) error {
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	_, err := both.Write(key[:])
	var row [4 * Inputs]byte
	for ; len(x) > 0 && err == nil; x = x[Inputs:] {
		for i, v := range x[:Inputs] {
			binary.LittleEndian.PutUint32(row[4*i:], math.Float32bits(v))
		}
		_, err = both.Write(row[:])
	}
	if err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// readCache is the inverse of writeCache. It reports whether the file of size bytes is whole and
// belongs to the key.
func readCache(r io.Reader, size int64, key [sha256.Size]byte, rows int) (x []float32, ok bool) {
	if size != int64(2*sha256.Size+4*Inputs*rows) {
		return nil, false
	}
	sum := sha256.New()
	both := io.TeeReader(r, sum)
	var head, want [sha256.Size]byte
	if _, err := io.ReadFull(both, head[:]); err != nil || head != key {
		return nil, false
	}
	x = make([]float32, 0, Inputs*rows)
	var row [4 * Inputs]byte
	for range rows {
		if _, err := io.ReadFull(both, row[:]); err != nil {
			return nil, false
		}
		for at := 0; at < len(row); at += 4 {
			x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(row[at:])))
		}
	}
	_, err := io.ReadFull(r, want[:])
	return x, err == nil && bytes.Equal(sum.Sum(nil), want[:])
}

// read returns the features of a file, if it is whole and belongs to the key.
func read(path string, key [sha256.Size]byte, rows int) (x []float32, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false
	}
	return readCache(bufio.NewReaderSize(f, buffer), info.Size(), key, rows)
}

const buffer = 1 << 16 // bytes, between a file and its rows

// replace writes a file of features and renames it to path. It does not sync the file to the disk:
// if a power cut leaves it incomplete, its checksum fails.
func replace(path string, x []float32, key [sha256.Size]byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+Name+"-*")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, buffer)
	err = writeCache(w, x, key)
	if err = errors.Join(err, w.Flush(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
