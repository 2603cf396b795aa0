package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/mnist"
)

// file reads a CSV file row by row.
type file struct {
	name   string // the base name of the file, for error messages
	file   *os.File
	csv    *csv.Reader
	header []string
	names  []string       // the header, sorted
	at     map[string]int // the index of each column, by its name in header
	row    []string
	rows   int
	sides  []int // for each row that read has read: 1 if it belongs to the test set, 0 if not
}

// openFile opens a CSV file and reads its header.
func openFile(path string) (*file, error) {
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
	if mark := []byte("\xef\xbb\xbf"); startsWith(in, mark) { // spreadsheets write a byte order mark
		_, _ = in.Discard(len(mark))
	}
	f.csv = csv.NewReader(in)
	f.csv.FieldsPerRecord = -1 // readRow checks the number of fields itself
	f.csv.ReuseRecord = true
	if err = f.readHeader(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func startsWith(in *bufio.Reader, mark []byte) bool {
	head, _ := in.Peek(len(mark))
	return bytes.Equal(head, mark)
}

func (f *file) close() { _ = f.file.Close() } // the file was only read, so an error loses no data

func (f *file) readHeader() error {
	row, err := f.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %s is empty, want a header that names the columns", ErrTable, f.name)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
	}
	f.header, f.at = slices.Clone(row), make(map[string]int, len(row))
	for i := range f.header {
		name := strings.TrimSpace(f.header[i])
		if _, twice := f.at[name]; twice || name == "" {
			return fmt.Errorf("%w: %s: column %d of the header is %.64q, want a name, each once", ErrTable, f.name, i+1, name)
		}
		f.header[i], f.at[name] = name, i
	}
	f.names = slices.Sorted(maps.Keys(f.at))
	return nil
}

// column returns the index of the column with the given name, or ErrTable if the header does not
// have that name.
func (f *file) column(name string) (int, error) {
	if at, ok := f.at[name]; ok {
		return at, nil
	}
	hint := ""
	switch {
	case len(f.header) == 1 && strings.ContainsAny(f.header[0], ";\t"):
		hint = "; its values must be separated by commas"
	case strings.Contains(f.header[0], "\x00"):
		hint = "; it must be UTF-8 or ASCII, not UTF-16"
	}
	return 0, fmt.Errorf("%w: %s has no column %q, it has %s%s", ErrTable, f.name, name, sample(f.header), hint)
}

// sample formats the first texts of a list that may be long.
func sample(texts []string) string {
	const most = 16
	if len(texts) <= most {
		return fmt.Sprintf("%.64q", texts)
	}
	return fmt.Sprintf("%.64q and %d more", texts[:most], len(texts)-most)
}

// readRow reads the next row into f.row. It returns false at the end of the file.
func (f *file) readRow() (bool, error) {
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
		return false, fmt.Errorf("%w: %s line %d has %d values, the header has %d columns", ErrTable, f.name, line, len(row),
			len(f.header))
	}
	if f.rows++; f.rows > mnist.MaxExamples || f.rows*len(row) > mnist.MaxPixels {
		return false, fmt.Errorf("%w: %s has more than %d rows of %d columns, want at most %d rows and %d values",
			ErrTable, f.name, f.rows-1, len(row), mnist.MaxExamples, mnist.MaxPixels)
	}
	return true, nil
}

// text returns the text of the current row in the column with the index at, without the spaces
// around the text. It fails if the text is empty.
func (f *file) text(at int) (string, error) {
	text := strings.TrimSpace(f.row[at])
	if text == "" {
		return "", f.errorf(at, "the value is missing")
	}
	return text, nil
}

// number parses the field of the current row in the column with index at. It fails if the field's text
// is not a finite number in decimal digits: Go's hexadecimal numbers are no number to other programs.
func (f *file) number(at int) (float64, error) {
	text, err := f.text(at)
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "+-.0123456789eE") != "" || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, f.errorf(at, "no finite number")
	}
	return x, nil
}

// errorf returns an error about the value of the current row in the column with the index at. The
// error does not quote the value: the row is private, and errors reach logs.
func (f *file) errorf(at int, format string, args ...any) error {
	line, _ := f.csv.FieldPos(at)
	return fmt.Errorf("%w: %s line %d, column %q: %s", ErrTable, f.name, line, f.header[at], fmt.Sprintf(format, args...))
}
