package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/mnist"
)

// file is a CSV file at one of its rows.
type file struct {
	name   string // for messages
	file   *os.File
	csv    *csv.Reader
	header []string
	row    []string
	rows   int
}

// open opens a CSV file and reads its header.
func open(path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: not a regular file (%s)", path, fs.ErrInvalid, info.Mode().Type())
	}
	if info.Size() > mnist.MaxPixels {
		return nil, fmt.Errorf("%w: %s has %d bytes, want at most %d", ErrTable, path, info.Size(), mnist.MaxPixels)
	}
	f := &file{name: filepath.Base(path)}
	if f.file, err = os.Open(path); err != nil {
		return nil, err
	}
	in := bufio.NewReader(f.file)
	if mark := []byte("\xef\xbb\xbf"); startsWith(in, mark) { // spreadsheets write it
		_, _ = in.Discard(len(mark))
	}
	f.csv = csv.NewReader(in)
	f.csv.FieldsPerRecord = -1 // next says which line has how many
	f.csv.ReuseRecord = true
	if f.header, err = f.readHeader(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func startsWith(in *bufio.Reader, mark []byte) bool {
	head, _ := in.Peek(len(mark))
	return bytes.Equal(head, mark)
}

func (f *file) close() { _ = f.file.Close() } // it was only read

func (f *file) readHeader() ([]string, error) {
	row, err := f.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %s is empty, want a header that names the columns", ErrTable, f.name)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
	}
	header := slices.Clone(row)
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if slices.Contains(header[:i], header[i]) || header[i] == "" {
			return nil, fmt.Errorf("%w: %s: column %d of the header is %.64q, want a name, each once", ErrTable, f.name, i+1, header[i])
		}
	}
	return header, nil
}

// column returns where a column is.
func (f *file) column(name string) (int, error) {
	at := slices.Index(f.header, name)
	if at >= 0 {
		return at, nil
	}
	hint := ""
	if len(f.header) == 1 && strings.ContainsAny(f.header[0], ";\t") {
		hint = "; its values must be separated by commas"
	}
	return 0, fmt.Errorf("%w: %s has no column %q, it has %.1000q%s", ErrTable, f.name, name, f.header, hint)
}

// next goes to the next row and reports whether there is one.
func (f *file) next() (bool, error) {
	row, err := f.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
	}
	f.row = row
	if len(row) != len(f.header) {
		line, _ := f.csv.FieldPos(0)
		return false, fmt.Errorf("%w: %s line %d has %d values, the header has %d columns: %.200q", ErrTable, f.name, line, len(row), len(f.header), row)
	}
	if f.rows++; f.rows > mnist.MaxExamples || f.rows*len(row) > mnist.MaxPixels {
		return false, fmt.Errorf("%w: %s has more than %d rows of %d columns, want at most %d rows and %d values",
			ErrTable, f.name, f.rows-1, len(row), mnist.MaxExamples, mnist.MaxPixels)
	}
	return true, nil
}

// text returns what a column of the row says.
func (f *file) text(at int) (string, error) {
	text := strings.TrimSpace(f.row[at])
	if text == "" {
		return "", f.errorf(at, "%q, the value is missing", f.row[at])
	}
	return text, nil
}

// number returns the number in a column of the row.
func (f *file) number(at int) (float64, error) {
	text, err := f.text(at)
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, f.errorf(at, "%.64q is no finite number", text)
	}
	return x, nil
}

// errorf returns an error about a value of the row.
func (f *file) errorf(at int, format string, args ...any) error {
	line, _ := f.csv.FieldPos(at)
	return fmt.Errorf("%w: %s line %d, column %q: %s", ErrTable, f.name, line, f.header[at], fmt.Sprintf(format, args...))
}
