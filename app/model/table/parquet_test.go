package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
)

// rowsOf reads a file's header and rows.
func rowsOf(t *testing.T, path string) (rows [][]string) {
	f, err := stream(path)
	require.NoError(t, err, path)
	defer f.close()
	rows = append(rows, f.header)
	for {
		more, err := f.readRow()
		require.NoError(t, err, path)
		if !more {
			return rows
		}
		rows = append(rows, append([]string{}, f.row...))
	}
}

// TestParquetRows: files of three writers, with each encoding and compression, have the rows of the CSV file, and with
// them its draft of a schema, its fit and its examples, on the same sides.
func TestParquetRows(t *testing.T) {
	original := filepath.Join("testdata", "pima.csv")
	files, err := filepath.Glob(filepath.Join("testdata", "pima-*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	draft, err := DraftSchema([]string{original}, "diabetes", "")
	require.NoError(t, err)
	data, err := Load(original, draft.Schema)
	require.NoError(t, err)
	want := rowsOf(t, original)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			require.Equal(t, want, rowsOf(t, path))
			got, err := DraftSchema([]string{path}, "diabetes", "")
			require.NoError(t, err)
			require.Equal(t, draft, got)
			read, err := Load(path, draft.Schema)
			require.NoError(t, err)
			require.Equal(t, data, read)
			units, err := Units(path, draft.Schema)
			require.NoError(t, err)
			require.Equal(t, 240, units)
			plain := filepath.Join(t.TempDir(), "plain.csv")
			require.NoError(t, WriteCSV(path, plain))
			text, err := os.ReadFile(plain)
			require.NoError(t, err)
			csv, err := os.ReadFile(original)
			require.NoError(t, err)
			require.Equal(t, string(csv), string(text))
			require.ErrorIs(t, WriteCSV(path, plain), os.ErrExist)
		})
	}
}

// TestParquetTypes: dates, moments, decimals and whole numbers of each size are the texts of the CSV file, but for
// moments, which have the time of day.
func TestParquetTypes(t *testing.T) {
	want := rowsOf(t, filepath.Join("testdata", "jasa.csv"))
	for _, row := range want[1:] {
		for at, after := range map[int]string{2: " 00:00:00", 3: " 00:00:00+00:00"} {
			if row[at] != "" {
				row[at] += after
			}
		}
		row[5] = map[string]string{"0": "false", "1": "true"}[row[5]]
	}
	require.Equal(t, want, rowsOf(t, filepath.Join("testdata", "jasa-duckdb-gzip.parquet")))
}

// TestParquetTexts: what a value becomes, by the type of its column.
func TestParquetTexts(t *testing.T) {
	element := func(kind parquet.Kind, length int32, l *format.LogicalType) format.SchemaElement {
		typ := format.Type(kind)
		return format.SchemaElement{Type: &typ, TypeLength: &length, LogicalType: l}
	}
	decimal := func(scale int32) *format.LogicalType {
		return &format.LogicalType{Decimal: &format.DecimalType{Scale: scale, Precision: 9}}
	}
	unsigned := &format.LogicalType{Integer: &format.IntType{BitWidth: 64}}
	unit := format.TimeUnit{Micros: new(format.MicroSeconds)}
	micros := &format.LogicalType{Timestamp: &format.TimestampType{Unit: unit}}
	bytesOf := parquet.FixedLenByteArrayValue
	for want, c := range map[string]struct {
		format.SchemaElement
		parquet.Value
	}{
		"3":                          {element(parquet.Double, 0, nil), parquet.DoubleValue(3)},
		"0.1":                        {element(parquet.Float, 0, nil), parquet.FloatValue(0.1)},
		"1e-07":                      {element(parquet.Double, 0, nil), parquet.DoubleValue(1e-7)},
		"":                           {element(parquet.Double, 0, nil), parquet.DoubleValue(math.NaN())},
		"-1.5":                       {element(parquet.Int32, 0, decimal(2)), parquet.Int32Value(-150)},
		"0.05":                       {element(parquet.Int64, 0, decimal(2)), parquet.Int64Value(5)},
		"200":                        {element(parquet.Int32, 0, decimal(0)), parquet.Int32Value(200)},
		"-0.01":                      {element(parquet.FixedLenByteArray, 2, decimal(2)), bytesOf([]byte{255, 255})},
		"2.56":                       {element(parquet.FixedLenByteArray, 2, decimal(2)), bytesOf([]byte{1, 0})},
		"18446744073709551615":       {element(parquet.Int64, 0, unsigned), parquet.Int64Value(-1)},
		"1969-12-31 23:59:59.999999": {element(parquet.Int64, 0, micros), parquet.Int64Value(-1)},
		"a\nb":                       {element(parquet.ByteArray, 0, nil), parquet.ByteArrayValue([]byte("a\r\nb"))},
		"00ff":                       {element(parquet.FixedLenByteArray, 2, nil), bytesOf([]byte{0, 255})},
	} {
		text := textOf(c.SchemaElement)
		require.Equal(t, want, string(text(nil, c.Value)))
	}
}

// TestParquetLists: a list is a column for each value, whichever the writer, and each list has as many.
func TestParquetLists(t *testing.T) {
	want := rowsOf(t, filepath.Join("testdata", "features-arrow.parquet"))
	require.Equal(t, []string{"x[0]", "x[1]", "x[2]", "x[3]", "y", "groups"}, want[0])
	require.Equal(t, []string{"6", "50", "0.627", "1.5", "1", "p10"}, want[1])
	require.Len(t, want, 241)
	require.Equal(t, want, rowsOf(t, filepath.Join("testdata", "features-duckdb.parquet")))

	type row struct {
		X []float64
		Y int64
	}
	path := filepath.Join(t.TempDir(), "uneven.parquet")
	require.NoError(t, parquet.WriteFile(path, []row{{[]float64{1, 2}, 0}, {[]float64{3}, 1}}))
	f, err := stream(path)
	require.NoError(t, err)
	defer f.close()
	_, err = f.readRow()
	require.NoError(t, err)
	_, err = f.readRow()
	require.EqualError(t, err, `bad table: uneven.parquet: row 2, column "X": a list of 1 values, want 2 as in the first `+
		`row, at most 65536`)
}

// TestParquetFaults: an error names the file, and a value's its row and column. None ends a file early.
func TestParquetFaults(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "pima-duckdb-snappy.parquet"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "file.parquet")
	fault := func(content []byte) error {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := DraftSchema([]string{path}, "diabetes", "")
		return err
	}
	require.NoError(t, fault(content))
	require.ErrorContains(t, fault(content[:3000]), "file.parquet as Parquet: its end is missing: copy it again")
	require.ErrorContains(t, fault([]byte("PAR1")), "its end is missing")
	encrypted := append(bytes.Clone(content[:len(content)-4]), "PARE"...)
	require.ErrorContains(t, fault(encrypted), "leave encryption out")
	long := bytes.Clone(content)
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	require.ErrorContains(t, fault(long), "its footer has 2147483648 bytes, and the file 6514")
	nested, err := os.ReadFile(filepath.Join("testdata", "nested.parquet"))
	require.NoError(t, err)
	require.ErrorContains(t, fault(nested), `file.parquet as Parquet: column "pair" is nested: want values, or lists of `+
		`values`)

	footer := func(change func(*format.FileMetaData)) []byte {
		end, length := len(content)-8, int(binary.LittleEndian.Uint32(content[len(content)-8:]))
		var meta format.FileMetaData
		require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), content[end-length:end], &meta))
		change(&meta)
		text, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
		require.NoError(t, err)
		out := append(bytes.Clone(content[:len(content)-8-length]), text...)
		return append(binary.LittleEndian.AppendUint32(out, uint32(len(text))), "PAR1"...)
	}
	require.NoError(t, fault(footer(func(*format.FileMetaData) {})))
	err = fault(footer(func(m *format.FileMetaData) { m.NumRows++ }))
	require.ErrorContains(t, err, `file.parquet: it ends behind row 240, its footer says 241: copy it again`)
	err = fault(footer(func(m *format.FileMetaData) { m.RowGroups[0].Columns[1].MetaData.Codec = format.LZO }))
	require.ErrorContains(t, err, `its pages are compressed by LZO, want SNAPPY, GZIP`)
	lz4, err := os.ReadFile(filepath.Join("testdata", "lz4.parquet"))
	require.NoError(t, err)
	require.ErrorContains(t, fault(lz4), "its pages are compressed by LZ4_RAW")
	err = fault(footer(func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].EncryptedColumnMetadata = []byte{1} }))
	require.ErrorContains(t, err, `column "pregnant" is encrypted`)
	err = fault(footer(func(m *format.FileMetaData) { m.Schema[2].Name = "pregnant" }))
	require.ErrorContains(t, err, `column 2 of the header is "pregnant", want a name, each once`)

	table := params.Table{Label: "diabetes", Classes: []string{"neg", "pos"}, Columns: []params.Column{{Name: "insulin",
		High: 1000}}}
	_, err = Load(filepath.Join("testdata", "pima-duckdb-snappy.parquet"), table)
	require.EqualError(t, err, `bad table: pima-duckdb-snappy.parquet row 1, column "insulin": the value is missing`)
}

// TestParquetPipe: nobody writes into a pipe, and nobody waits for it; an empty file has columns and no rows.
func TestParquetPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, exec.Command("mkfifo", pipe).Run())
	require.False(t, IsParquet(pipe))
	empty := filepath.Join(t.TempDir(), "empty.parquet")
	require.NoError(t, parquet.WriteFile(empty, []struct{ A, B float64 }{}))
	require.True(t, IsParquet(empty))
	require.Equal(t, [][]string{{"A", "B"}}, rowsOf(t, empty))
}

// TestParquetOfAnyBytes: whatever bytes of a file change, reading it ends soon, with rows or an error.
func TestParquetOfAnyBytes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.parquet"))
	require.NoError(t, err)
	random, read, failed := rand.New(rand.NewPCG(1, 1)), 0, 0
	for _, path := range files {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for range stage.Pick(30, 300, 3000) {
			content := bytes.Clone(whole)
			for range 1 + random.IntN(6) {
				at := random.IntN(len(content))
				if random.IntN(2) == 0 {
					at = len(content) - 1 - random.IntN(min(len(content), 2500)) // the footer
				}
				content[at] = []byte{content[at] ^ 1<<random.IntN(8), byte(random.IntN(256)), 0xff, 0}[random.IntN(4)]
			}
			begun := time.Now()
			p, err := openParquet(bytes.NewReader(content), int64(len(content)))
			for rows := 0; err == nil && rows < 1000; rows++ {
				_, err = p.Read()
			}
			require.Less(t, time.Since(begun), 20*time.Second)
			if err == nil || fmt.Sprint(err) == "EOF" {
				read++
			} else {
				failed++
			}
		}
	}
	require.Positive(t, read)
	require.Greater(t, failed, read)
}
