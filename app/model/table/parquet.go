package table

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"runtime/debug"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

const (
	parquetMark = "PAR1"
	// mostOpen bounds the bytes of the open pages, one of each column, by their headers. Writers make pages of 1 MB.
	mostOpen   = 1 << 30
	mostListed = 1 << 16 // columns that a list becomes
)

// parquetRows reads the rows of a Parquet file as texts, as csv.Reader those of a CSV file: first the names of the
// columns. A list is a column for each of its values, as many as the first row has.
type parquetRows struct {
	in      io.ReaderAt
	meta    format.FileMetaData
	columns []*parquetColumn
	group   int   // the next row group
	left    int64 // rows of the current one
	row     int
	begin   [][]string // the header and the first row, until they are read
	open    int64      // bytes of the open pages, and of dictionaries

	text []byte // of the current row, of which ends cuts its values
	ends []int
	out  []string
	zstd *zstd.Decoder
}

// parquetColumn reads a column's values, page by page.
type parquetColumn struct {
	name        string
	length      int // of lists
	element     format.SchemaElement
	typ         parquet.Type // without its logical type: append knows that
	repetitions int          // the highest levels
	definitions int
	append      func([]byte, parquet.Value) []byte

	chunk      *bufio.Reader // what is left of the row group's
	size       int64         // of the chunk
	codec      format.CompressionCodec
	dictionary parquet.Dictionary
	open       [2]int64 // bytes of the page, and of the dictionary

	left             int // values and gaps of the page, each of which may have two levels
	repeats, defined []byte
	values           parquet.ValueReader // nil if all are in the dictionary
	indices          []int32
	buffer           [128]parquet.Value
	ready            []parquet.Value
}

// openParquet reads the footer of a file. Pages are found, bounded and decompressed here, and the library decodes the
// values, which become texts here: it allocates what a file says.
func openParquet(in io.ReaderAt, size int64) (p *parquetRows, err error) {
	defer guard(&err)()
	tail := make([]byte, 8)
	if _, err := in.ReadAt(tail, max(0, size-8)); err != nil || string(tail[4:]) != parquetMark {
		return nil, errors.New("its end is missing: copy it again, and leave encryption out")
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if length > size-12 {
		return nil, fmt.Errorf("its footer has %d bytes, and the file %d: copy it again", length, size)
	}
	p = &parquetRows{in: in}
	footer := io.NewSectionReader(in, size-8-length, length)
	if err := bounded(bufio.NewReader(footer), length).Decode(&p.meta); err != nil {
		return nil, fmt.Errorf("its footer: %w", err)
	}
	if err := p.readSchema(); err != nil {
		return nil, err
	}
	if err = p.readRow(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var header []string
	for _, c := range p.columns {
		if c.repetitions == 0 {
			header = append(header, c.name)
		}
		for i := range c.length {
			header = append(header, fmt.Sprintf("%s[%d]", c.name, i))
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
func (p *parquetRows) readSchema() error {
	s := p.meta.Schema
	if len(s) < 2 || int(s[0].NumChildren) > len(s) {
		return errors.New("it has no columns")
	}
	at := 1
	for range s[0].NumChildren {
		c := &parquetColumn{}
		for depth := 0; at < len(s); depth++ {
			e := &s[at]
			at++
			c.name = cmp.Or(c.name, e.Name)
			if e.RepetitionType != nil && *e.RepetitionType != format.Required {
				c.definitions++
				if *e.RepetitionType == format.Repeated {
					c.repetitions++
				}
			}
			if e.NumChildren == 0 {
				c.element = *e
				break
			}
			if e.NumChildren != 1 || depth > 1 || c.repetitions > 1 {
				return fmt.Errorf("column %.64q is nested: want values, or lists of values: write each part as a column", c.name)
			}
		}
		if c.typ, c.append = textOf(c.element); c.append == nil {
			return fmt.Errorf("column %.64q is of a type that is not known: write it as numbers or texts", c.name)
		}
		p.columns = append(p.columns, c)
	}
	for _, g := range p.meta.RowGroups {
		if at != len(s) || len(g.Columns) != len(p.columns) {
			return fmt.Errorf("a row group has %d columns, the schema %d", len(g.Columns), len(p.columns))
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
	for p.left == 0 {
		if p.group == len(p.meta.RowGroups) {
			return io.EOF
		}
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	p.left--
	p.row++
	p.text, p.ends, p.out = p.text[:0], p.ends[:0], p.out[:0]
	for _, c := range p.columns {
		err := p.readCell(c)
		if errors.Is(err, io.EOF) { // it would be the end of the file
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("row %d, column %q: %w", p.row, c.name, err)
		}
	}
	text, from := string(p.text), 0
	for _, end := range p.ends {
		p.out = append(p.out, text[from:end])
		from = end
	}
	return nil
}

// readCell appends the texts of a column in a row.
func (p *parquetRows) readCell(c *parquetColumn) (err error) {
	n := 0
	for more := true; more; n++ {
		for c.left == 0 && err == nil {
			err = p.nextPage(c)
		}
		if err != nil {
			return err
		}
		if v := c.next(); !v.IsNull() {
			p.text = c.append(p.text, v)
		}
		if p.ends = append(p.ends, len(p.text)); c.repetitions == 0 {
			return nil
		}
		for c.left == 0 && err == nil {
			err = p.nextPage(c)
		}
		if more = c.left > 0 && c.repeats[0] > 0; errors.Is(err, io.EOF) { // behind the last row of a group
			err = nil
		}
	}
	if p.row == 1 {
		c.length = n
	}
	if n != c.length || n > mostListed {
		return fmt.Errorf("a list of %d values, want %d as in the first row, at most %d", n, c.length, mostListed)
	}
	return err
}

// nextGroup begins the next row group.
func (p *parquetRows) nextGroup() error {
	g := p.meta.RowGroups[p.group]
	p.group, p.left, p.open = p.group+1, g.NumRows, 0
	for i, c := range p.columns {
		m := g.Columns[i].MetaData
		if g.Columns[i].EncryptedColumnMetadata != nil || m.Type != *c.element.Type {
			return fmt.Errorf("column %q is encrypted, or of another type in its row group", c.name)
		}
		from := m.DataPageOffset
		if m.DictionaryPageOffset > 0 {
			from = min(from, m.DictionaryPageOffset)
		}
		c.codec, c.dictionary, c.left, c.size, c.open = m.Codec, nil, 0, m.TotalCompressedSize, [2]int64{}
		c.chunk = bufio.NewReader(io.NewSectionReader(p.in, from, c.size))
	}
	return nil
}

// next takes the next value of the page, or gap.
func (c *parquetColumn) next() (v parquet.Value) {
	if c.left--; len(c.repeats) > 0 {
		c.repeats = c.repeats[1:]
	}
	if len(c.defined) > 0 {
		level := c.defined[0]
		if c.defined = c.defined[1:]; int(level) < c.definitions {
			return v
		}
	}
	if c.values == nil {
		v, c.indices = c.dictionary.Index(c.indices[0]), c.indices[1:]
		return v
	}
	if len(c.ready) == 0 {
		n, _ := c.values.ReadValues(c.buffer[:]) // of memory: without a value the page has too few, which is a panic
		c.ready = c.buffer[:n]
	}
	v, c.ready = c.ready[0], c.ready[1:]
	return v
}

// nextPage reads the next page of a column, if it is one of values or of the dictionary.
func (p *parquetRows) nextPage(c *parquetColumn) error {
	if _, err := c.chunk.Peek(1); err != nil {
		return err // io.EOF at the chunk's end
	}
	var h format.PageHeader
	if err := bounded(c.chunk, c.size).Decode(&h); err != nil {
		return fmt.Errorf("the header of a page: %w", err)
	}
	values, levels, which, how := int32(0), int32(0), 0, format.Plain
	v1, v2 := h.DataPageHeader, h.DataPageHeaderV2
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader != nil:
		values, which = h.DictionaryPageHeader.NumValues, 1
	case h.Type == format.DataPage && v1 != nil && v1.DefinitionLevelEncoding == format.RLE:
		values, how = v1.NumValues, v1.Encoding
	case h.Type == format.DataPageV2 && v2 != nil && min(v2.DefinitionLevelsByteLength,
		v2.RepetitionLevelsByteLength) >= 0:
		values, how, levels = v2.NumValues, v2.Encoding, v2.DefinitionLevelsByteLength+v2.RepetitionLevelsByteLength
	default:
		return fmt.Errorf("a page of type %s, or with levels of an encoding that is not known", h.Type)
	}
	width := int64(8)
	if c.element.TypeLength != nil {
		width += int64(*c.element.TypeLength)
	}
	open := int64(h.UncompressedPageSize) + int64(values)*width
	if min(h.CompressedPageSize, h.UncompressedPageSize, values, levels, h.CompressedPageSize-levels,
		h.UncompressedPageSize-levels) < 0 || int64(h.CompressedPageSize) > c.size || p.open-c.open[which]+open > mostOpen {
		return fmt.Errorf("a page of %d bytes, %d uncompressed, with %d values: want pages of which one of each column has "+
			"at most %d bytes: write smaller pages", h.CompressedPageSize, h.UncompressedPageSize, values, mostOpen)
	}
	p.open += open - c.open[which]
	c.open[which] = open
	page := make([]byte, h.CompressedPageSize)
	if _, err := io.ReadFull(c.chunk, page); err != nil {
		return fmt.Errorf("the file is truncated in a page: %w", err)
	}
	rest, err := page[levels:], error(nil)
	if v2 == nil || v2.IsCompressed == nil || *v2.IsCompressed {
		if rest, err = p.decompress(c.codec, rest, int(h.UncompressedPageSize-levels)); err != nil {
			return fmt.Errorf("a page by %s: %w", c.codec, err)
		}
	}
	if which == 1 {
		content, err := c.decode(rest, int(values), how)
		if err == nil {
			c.dictionary = c.typ.NewDictionary(0, int(values), content)
		}
		return err
	}
	c.left, c.repeats, c.defined, c.ready, c.values = int(values), nil, nil, nil, nil
	for i, to := range []*[]byte{&c.repeats, &c.defined} {
		most, content := []int{c.repetitions, c.definitions}[i], []byte(nil)
		switch {
		case v2 != nil:
			n := []int32{v2.RepetitionLevelsByteLength, v2.DefinitionLevelsByteLength}[i]
			content, page = page[:n], page[n:]
		case most > 0:
			n := binary.LittleEndian.Uint32(rest)
			content, rest = rest[4:4+n], rest[4+n:]
		}
		if most > 0 {
			width := bits.Len(uint(most))
			if content, err = runs(content, width, c.left); err == nil {
				*to, err = (&rle.Encoding{BitWidth: width}).DecodeLevels(nil, content)
			}
			if err != nil || len(*to) < c.left {
				return fmt.Errorf("%d levels for %d values: %w", len(*to), c.left, err)
			}
		}
	}
	n := c.left
	if c.defined != nil {
		n = bytes.Count(c.defined[:n], []byte{byte(c.definitions)})
	}
	switch {
	case n == 0:
		return nil
	case how == format.RLEDictionary || how == format.PlainDictionary:
		width := int(rest[0])
		if rest, err = runs(rest[1:], width, n); err == nil {
			c.indices, err = (&rle.Encoding{BitWidth: width}).DecodeInt32(nil, rest)
		}
		return err
	}
	content, err := c.decode(rest, n, how)
	if err == nil {
		c.values = c.typ.NewPage(0, n, content).Values()
	}
	return err
}

// decode decodes n values.
func (c *parquetColumn) decode(page []byte, n int, how format.Encoding) (encoding.Values, error) {
	switch how {
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		at, said := 0, uint64(0)
		for range 3 { // the size of blocks, their parts, and how many values there are
			x, k := binary.Uvarint(page[at:])
			at, said = at+max(k, 0), x
		}
		if said > uint64(n) {
			return encoding.Values{}, fmt.Errorf("a page of %d values says it has %d", n, said)
		}
	}
	return c.typ.Decode(c.typ.NewValues(nil, nil), page, parquet.LookupEncoding(how))
}

// runs returns the part of a page that has n numbers, as runs of width bits each.
func runs(page []byte, width, n int) ([]byte, error) {
	at := 0
	for left := n; left > 0; {
		head, k := binary.Uvarint(page[at:])
		count, size := head>>1, (width+7)/8
		if head&1 == 1 { // groups of eight
			size = int(min(count, math.MaxInt32)) * width
			count *= 8
		}
		if at += k + size; k <= 0 || count > uint64(left)+512 || at > len(page) {
			return nil, fmt.Errorf("a run of %d values where %d are left", count, left)
		}
		left -= int(count)
	}
	return page[:at], nil
}

// decompress returns the n bytes that a page has.
func (p *parquetRows) decompress(codec format.CompressionCodec, page []byte, n int) (out []byte, err error) {
	var in io.Reader
	switch {
	case n == 0 || codec == format.Uncompressed:
		return page, nil
	case codec == format.Snappy:
		if length, err := snappy.DecodedLen(page); err != nil || length != n {
			return nil, fmt.Errorf("it has %d bytes, its header says %d", length, n)
		}
		return snappy.Decode(nil, page)
	case codec == format.Lz4Raw:
		out = make([]byte, n)
		n, err = lz4.UncompressBlock(page, out)
		return out[:n], err
	case codec == format.Gzip:
		in, err = gzip.NewReader(bytes.NewReader(page))
	case codec == format.Brotli:
		in = brotli.NewReader(bytes.NewReader(page))
	case codec == format.Zstd:
		if p.zstd == nil {
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		}
		if err == nil {
			in, err = p.zstd, p.zstd.Reset(bytes.NewReader(page))
		}
	default:
		return nil, errors.New("want SNAPPY, GZIP, ZSTD, BROTLI, LZ4_RAW or none: write the file with one of them")
	}
	if err == nil {
		out = make([]byte, n)
		_, err = io.ReadFull(in, out)
	}
	return out, err
}

// boundedReader reads Thrift, of which no list is longer than the bytes that hold it.
type boundedReader struct {
	compact
	most int64
}

type compact = thrift.Reader // embedded, it has a method Reader

func bounded(in io.Reader, most int64) *thrift.Decoder {
	return thrift.NewDecoder(boundedReader{new(thrift.CompactProtocol).NewReader(in), most})
}

func (r boundedReader) ReadList() (thrift.List, error) {
	l, err := r.compact.ReadList()
	if err == nil && int64(l.Size) > r.most {
		err = fmt.Errorf("a list of %d in %d bytes", l.Size, r.most)
	}
	return l, err
}
