package table

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

const (
	parquetMark = "PAR1"
	// mostListed bounds the columns that lists become.
	mostListed = 1 << 16
)

// parquetRows reads the rows of a Parquet file as texts, as csv.Reader those of a CSV file: first the names of the
// columns. A list is a column for each of its values, as many as the first row has.
type parquetRows struct {
	columns []parquetColumn
	groups  []parquet.RowGroup // those to come
	rows    parquet.Rows       // of the current one; nil before the first and behind the last
	buffer  [64]parquet.Row
	ready   []parquet.Row
	begin   [][]string // the header and the first row, until they are read
	row     int
	want    int64 // rows, by the footer

	text []byte // of the current row, of which ends cuts its values
	ends []int
	out  []string
}

type parquetColumn struct {
	name   string
	list   bool
	length int // of lists
	append func([]byte, parquet.Value) []byte
}

// openParquet reads the footer of a file, and its first row.
func openParquet(in io.ReaderAt, size int64) (p *parquetRows, err error) {
	defer guard(&err)()
	tail := make([]byte, 8)
	if _, err := in.ReadAt(tail, max(0, size-8)); err != nil || string(tail[4:]) != parquetMark {
		return nil, errors.New("its end is missing: copy it again, and leave encryption out")
	}
	if length := int64(binary.LittleEndian.Uint32(tail)); length > size-12 { // the library allocates that
		return nil, fmt.Errorf("its footer has %d bytes, and the file %d: copy it again", length, size)
	}
	f, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p = &parquetRows{groups: f.RowGroups(), want: f.NumRows()}
	if err := p.readSchema(f.Metadata()); err != nil {
		return nil, err
	}
	if err = p.readRow(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var header []string
	for _, c := range p.columns {
		for i := range c.length {
			name := c.name
			if c.list {
				name = fmt.Sprintf("%s[%d]", name, i)
			}
			header = append(header, name)
		}
	}
	if p.begin = [][]string{header}; err == nil {
		p.begin = append(p.begin, p.out)
	}
	return p, nil
}

// guard returns what turns a panic into an error: the library's answer to some bytes that are no Parquet. That
// includes faults of the memory, as it computes addresses.
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = fmt.Errorf("it is corrupt: %v", r)
		}
	}
}

// readSchema finds the columns: values, or lists of values.
func (p *parquetRows) readSchema(meta *format.FileMetaData) error {
	s, at := meta.Schema, 1
	for at < len(s) {
		c, repeated := parquetColumn{}, 0
		for depth := 0; at < len(s); depth++ {
			e := s[at]
			at++
			if c.name = cmp.Or(c.name, e.Name); e.RepetitionType != nil && *e.RepetitionType == format.Repeated {
				repeated++
			}
			if e.NumChildren == nil || *e.NumChildren == 0 {
				c.append = textOf(e)
				break
			}
			if *e.NumChildren != 1 || depth > 1 || repeated > 1 {
				return fmt.Errorf("column %.64q is nested: want values, or lists of values: write each part as a column", c.name)
			}
		}
		if c.append == nil {
			return fmt.Errorf("column %.64q is of a type that is not known: write it as numbers or texts", c.name)
		}
		if c.list = repeated > 0; !c.list {
			c.length = 1
		}
		p.columns = append(p.columns, c)
	}
	for _, g := range meta.RowGroups {
		for i, column := range g.Columns {
			switch codec := column.MetaData.Codec; {
			case column.EncryptedColumnMetadata != nil:
				return fmt.Errorf("column %.64q is encrypted: write it in the clear", p.columns[min(i, len(p.columns)-1)].name)
			case codec > format.Zstd || codec == format.LZO || codec == format.Lz4: // the library's LZ4 trusts what a page says
				return fmt.Errorf("its pages are compressed by %v, want SNAPPY, GZIP, ZSTD, BROTLI or nothing", codec)
			}
		}
	}
	return nil
}

// FieldPos returns the number of the current row, from 1.
func (p *parquetRows) FieldPos(int) (row, column int) { return p.row, 1 }

// Read returns the names of the columns, and then each row. The next call overwrites the slice.
func (p *parquetRows) Read() (row []string, err error) {
	defer guard(&err)()
	if len(p.begin) > 0 {
		row, p.begin = p.begin[0], p.begin[1:]
		return row, nil
	}
	return p.out, p.readRow()
}

// readRow reads the next row into out.
func (p *parquetRows) readRow() error {
	for len(p.ready) == 0 {
		if err := p.readSome(); err != nil {
			return err
		}
	}
	values := p.ready[0]
	p.ready = p.ready[1:]
	p.row++
	p.text, p.ends, p.out = p.text[:0], p.ends[:0], p.out[:0]
	for i := range p.columns {
		c, n := &p.columns[i], 0
		for ; len(values) > 0 && values[0].Column() == i; n++ {
			if v := values[0]; !v.IsNull() {
				p.text = c.append(p.text, v)
			}
			p.ends, values = append(p.ends, len(p.text)), values[1:]
		}
		if p.row == 1 {
			c.length = n
		}
		if want := c.length; n != want || n > mostListed || !c.list && n != 1 {
			return fmt.Errorf("row %d, column %q: a list of %d values, want %d as in the first row, at most %d", p.row, c.name,
				n, want, mostListed)
		}
	}
	text, from := string(p.text), 0
	for _, end := range p.ends {
		p.out = append(p.out, text[from:end])
		from = end
	}
	return nil
}

// readSome reads the next rows of a row group.
func (p *parquetRows) readSome() error {
	if p.rows == nil {
		if len(p.groups) == 0 && int64(p.row) != p.want {
			return fmt.Errorf("it ends behind row %d, its footer says %d: copy it again", p.row, p.want)
		}
		if len(p.groups) == 0 {
			return io.EOF
		}
		p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
	}
	n, err := p.rows.ReadRows(p.buffer[:])
	p.ready = p.buffer[:n]
	if errors.Is(err, io.EOF) {
		err, p.rows = p.rows.Close(), nil
	}
	if err != nil {
		return fmt.Errorf("behind row %d: %w", p.row, err)
	}
	return nil
}
