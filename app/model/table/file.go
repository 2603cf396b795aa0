package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/mnist"
)

// rowReader is what file needs of a csv.Reader. FieldPos gives the line, or the row of a file without lines.
type rowReader interface {
	Read() ([]string, error)
	FieldPos(field int) (line, column int)
}

// file reads a CSV file, or a Parquet file, row by row.
type file struct {
	name   string // the base name of the file, for error messages
	file   *os.File
	reader rowReader
	comma  rune   // between the values
	line   string // what FieldPos counts
	header []string
	names  []string       // the header, sorted
	at     map[string]int // the index of each column, by its name in header
	row    []string
	levels []uint8 // of the value that FitOf reads
	rows   int
	sides  []int // for each row that read has read: 1 if it belongs to the test set, 0 if not

	streamed bool         // no rows are kept, so their number has no bound
	faulty   map[int]bool // the columns of faults
	faults   []string     // the first of each column
}

// openFile opens a file whose rows are kept in memory.
func openFile(path string) (*file, error) {
	f, err := stream(path)
	if err != nil {
		return nil, err
	}
	f.streamed = false
	if info, err := f.file.Stat(); err != nil || info.Size() > mnist.MaxPixels {
		f.close()
		return nil, cmp.Or(err, fmt.Errorf("%w: %s has more than %d bytes", ErrTable, path, mnist.MaxPixels))
	}
	return f, nil
}

// stream opens a file of any size and reads its header.
func stream(path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: not a regular file (%s)", path, fs.ErrInvalid, info.Mode().Type())
	}
	f := &file{name: filepath.Base(path), streamed: true, faulty: map[int]bool{}}
	if f.file, err = os.Open(path); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f.file, 1<<16)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" { // spreadsheets write a byte order mark
		_, _ = in.Discard(len(mark))
	}
	if mark, _ := in.Peek(4); string(mark) == parquetMark {
		f.comma, f.line = ',', "row"
		if f.reader, err = openParquet(f.file, info.Size()); err != nil {
			err = fmt.Errorf("as Parquet: %w", err)
		}
	} else {
		rows := csv.NewReader(in)
		rows.FieldsPerRecord = -1 // readRow checks the number of fields itself
		rows.ReuseRecord = true
		rows.Comma, err = separator(in)
		f.comma, f.line, f.reader = rows.Comma, "line", rows
	}
	if err != nil {
		err = fmt.Errorf("%w: %s %w", ErrTable, f.name, err)
	}
	if err = cmp.Or(err, f.readHeader()); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

const asJSON = "JSON: write a line of values for each row, as pandas' to_csv does"

// foreign are files that are no tables, by their first bytes.
var foreign = [][2]string{
	{"PK\x03\x04", "a spreadsheet or a ZIP archive: save one sheet as CSV (UTF-8)"},
	{"\xd0\xcf\x11\xe0", "an old spreadsheet: save one sheet as CSV (UTF-8)"},
	{"\x1f\x8b", "compressed: gunzip unpacks it"},
	{"$FL", "of SPSS: save it as CSV (UTF-8)"},
	{"{\"", asJSON}, {"[{", asJSON}, {"[\n", asJSON},
	{"\x89PNG", "an image"}, {"\xff\xd8\xff", "an image"}, {"%PDF", "a document"},
}

// separator returns the mark that stands most often in the first line, outside of quotes. A comma wins a tie. It fails
// if the second line has another in its place, and for what is no CSV file.
func separator(in *bufio.Reader) (most rune, err error) {
	head, _ := in.Peek(in.Size()) // the file may be shorter
	for _, other := range foreign {
		if bytes.HasPrefix(head, []byte(other[0])) {
			return ',', fmt.Errorf("is no CSV or Parquet file but %s", other[1])
		}
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	switch zero := bytes.IndexByte(first, 0); {
	case zero >= 0 && zero <= len("\xff\xfe\"a"):
		return ',', errors.New("must be UTF-8 or ASCII, not UTF-16: iconv -f UTF-16 -t UTF-8 makes it so")
	case zero >= 0:
		return ',', errors.New("has bytes 0: want a CSV or Parquet file")
	}
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	most, n := mark(first)
	if other, m := mark(second); n > 0 && m > 0 && !bytes.ContainsRune(second, most) {
		return most, fmt.Errorf("has %q between the names of the header and %q in line 2, want one of them everywhere: "+
			"sed '1s/%c/%c/g' changes the header", most, other, most, other)
	}
	return most, nil
}

// mark returns the most frequent separator of a line, and how often it is there outside of quotes.
func mark(line []byte) (most rune, n int) {
	most = ','
	for _, c := range ",;\t|" {
		k := 0
		for i, part := range bytes.Split(line, []byte{'"'}) {
			k += (1 - i%2) * bytes.Count(part, []byte(string(c)))
		}
		if k > n {
			most, n = c, k
		}
	}
	return most, n
}

func (f *file) close() { _ = f.file.Close() } // the file was only read, so an error loses no data

func (f *file) readHeader() error {
	row, err := f.reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %s is empty, want a header that names the columns", ErrTable, f.name)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
	}
	f.header, f.at = slices.Clone(row), make(map[string]int, len(row))
	for i := range f.header {
		name := cmp.Or(strings.TrimSpace(f.header[i]), fmt.Sprint("column ", i+1)) // none for numbers of rows, or for nothing
		if _, twice := f.at[name]; twice {
			return fmt.Errorf("%w: %s: column %d of the header is %.64q, want a name, each once", ErrTable, f.name, i+1, name)
		}
		f.header[i], f.at[name] = name, i
	}
	f.names = slices.Sorted(maps.Keys(f.at))
	return nil
}

// column returns the index of the column with the given name, or ErrTable if the header does not have that name.
func (f *file) column(name string) (int, error) {
	if at, ok := f.at[name]; ok {
		return at, nil
	}
	hint := ""
	if len(f.header) == 1 && strings.Contains(f.header[0], " ") {
		hint = "; spaces separate no values, want commas, semicolons, tabs or |, as tr -s ' ' , makes"
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
	row, err := f.reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
	}
	f.row = row
	if len(row) != len(f.header) {
		return false, fmt.Errorf("%w: %s %s has %d values, the header has %d columns: the first line names every column, "+
			"and a value that has the separator %q stands in quotes", ErrTable, f.name, f.place(0), len(row), len(f.header),
			f.comma)
	}
	if f.rows++; !f.streamed && (f.rows > mnist.MaxExamples || f.rows*len(row) > mnist.MaxPixels) {
		return false, fmt.Errorf("%w: %s has more than %d rows of %d columns, want at most %d rows and %d values",
			ErrTable, f.name, f.rows-1, len(row), mnist.MaxExamples, mnist.MaxPixels)
	}
	return true, nil
}

// text returns the current row's text in the column with the index at, less spaces around it. It fails if none is left.
func (f *file) text(at int) (string, error) {
	text := strings.TrimSpace(f.row[at])
	if text == "" {
		return "", f.errorf(at, "the value is missing")
	}
	return text, nil
}

// isMissing reports whether a text stands for a number that is missing.
func isMissing(text string) bool {
	switch text {
	case "", "NA", "NaN", "nan", "N/A", "n/a", "NULL", "null", "?", ".":
		return true
	}
	return false
}

// number parses the text of the current row in the column with index at. It fails unless that is a finite number.
func (f *file) number(at int) (float64, error) {
	text, err := f.text(at)
	x, ok := f.parse(text)
	if err == nil && !ok {
		err = f.errorf(at, "no finite number")
	}
	return x, err
}

// parse returns the finite number that a text is in decimal digits: Go's hexadecimal numbers are no number
// to other programs. In a file without commas between the values a comma may stand for the decimal point.
func (f *file) parse(text string) (float64, bool) {
	if f.comma != ',' && !strings.Contains(text, ".") {
		text = strings.Replace(text, ",", ".", 1)
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

// place says where the current row's value in a column is.
func (f *file) place(at int) string {
	line, _ := f.reader.FieldPos(at)
	return fmt.Sprint(f.line, " ", line)
}

// fault is an error about one value, or about several.
type fault struct{ file, text string }

func (e *fault) Error() string { return fmt.Sprintf("%v: %s %s", ErrTable, e.file, e.text) }

func (e *fault) Unwrap() error { return ErrTable }

// errorf returns an error about the value of the current row in the column with the index at. The
// error does not quote the value: the row is private, and errors reach logs.
func (f *file) errorf(at int, format string, args ...any) *fault {
	return &fault{f.name, fmt.Sprintf("%s, column %q: %s", f.place(at), f.header[at], fmt.Sprintf(format, args...))}
}

// note keeps the first fault of a column, so that one error has those of all columns.
func (f *file) note(at int, err error) {
	if one := new(fault); errors.As(err, &one) && !f.faulty[at] {
		f.faulty[at] = true
		f.faults = append(f.faults, one.text)
	}
}

// fault returns the error of all faults, nil if there is none.
func (f *file) fault() error {
	const most = 16
	if len(f.faults) > most {
		f.faults = append(f.faults[:most], fmt.Sprintf("and %d more columns", len(f.faults)-most))
	}
	if len(f.faults) == 0 {
		return nil
	}
	return &fault{f.name, strings.Join(f.faults, "; ")}
}
