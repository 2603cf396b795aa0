package dossier

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
)

// The files of an archive, in their order in it.
const (
	htmlFile     = "dossier.html"
	markdownFile = "dossier.md"
	claimsFile   = "claims.json"
	evidenceFile = "evidence.json"
	manifestFile = "manifest.json"
)

var files = []string{htmlFile, markdownFile, claimsFile, evidenceFile, manifestFile}

// MaxBytes is the max size of an archive.
const MaxBytes = 256 << 20

// pack returns the archive of the files' contents: a ZIP file with uncompressed entries and without
// times. Equal contents give equal bytes.
func pack(contents map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(contents[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// ReadFile returns the bytes of an archive's file.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxBytes {
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d", path, ErrDossier, info.Size(), int64(MaxBytes))
	}
	return os.ReadFile(path)
}

// unpack returns the contents of an archive. It accepts exactly the files above, uncompressed, so
// that it reads no more bytes than the archive has.
func unpack(data []byte) (map[string][]byte, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrDossier, len(data), MaxBytes)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: it is no whole archive: %w", ErrDossier, err)
	}
	if len(r.File) != len(files) {
		return nil, fmt.Errorf("%w: it has %d files, want %d", ErrDossier, len(r.File), len(files))
	}
	contents := map[string][]byte{}
	for i, f := range r.File {
		switch {
		case f.Name != files[i]:
			return nil, fmt.Errorf("%w: file %d is %.80q, want %q", ErrDossier, i, f.Name, files[i])
		case f.Method != zip.Store || f.UncompressedSize64 > uint64(len(data)):
			return nil, fmt.Errorf("%w: %s is compressed by method %d to %d of %d bytes, want it stored", ErrDossier, f.Name,
				f.Method, f.CompressedSize64, f.UncompressedSize64)
		}
		in, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDossier, f.Name, err)
		}
		content, err := io.ReadAll(io.LimitReader(in, int64(len(data))+1))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDossier, f.Name, err)
		}
		contents[f.Name] = content
	}
	return contents, nil
}

// canonical returns an error unless an archive is, byte for byte, the output of pack for its
// contents.
func canonical(data []byte, contents map[string][]byte) error {
	again, err := pack(contents)
	if err != nil || bytes.Equal(again, data) {
		return err
	}
	at := 0
	for at < min(len(again), len(data)) && again[at] == data[at] {
		at++
	}
	return fmt.Errorf("%w: byte %d of the archive is not what spdl writes there", ErrDossier, at)
}
