package table_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// file writes a table.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patients.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const patients = `age,diagnosis,dose
20,well,-1
90, ill ,1
55,well,0
20,"well",0.5
30,ill,-0.5
`

// shape returns the description of the table of patients.
func shape() params.Table {
	return params.Table{Label: "diagnosis", Classes: []string{"ill", "well"}, Columns: []params.Column{
		{Name: "age", Low: 20, High: 90}, {Name: "dose", Low: -1, High: 1},
	}}
}

func TestShape(t *testing.T) {
	for _, mark := range []string{"", "\xef\xbb\xbf"} {
		got, rows, err := table.Shape(file(t, mark+patients), "diagnosis", "")
		require.NoError(t, err)
		require.Equal(t, shape(), got)
		require.Equal(t, 5, rows)
	}
	require.Equal(t, 4, table.Examples(5))
}

// TestClassesAreInTheOrderOfTheirBytes: the order of the rows does not matter.
func TestClassesAreInTheOrderOfTheirBytes(t *testing.T) {
	got, _, err := table.Shape(file(t, "x,y\n1,b\n2,10\n3,B\n4,9\n"), "y", "")
	require.NoError(t, err)
	require.Equal(t, []string{"10", "9", "B", "b"}, got.Classes)
}

// TestLoad: values become 255ths of their column's range, and values beyond an end become that end.
// Columns are found by name. About a fifth of the rows is for testing.
func TestLoad(t *testing.T) {
	text := "dose,unknown,diagnosis,age\n1,-,ill,90\n-1,-,well,20\n0.2,-,ill,1000\n-7,-,well,-3\n0,-,well,55\n"
	data, err := table.Load(file(t, text), shape())
	require.NoError(t, err)
	require.Equal(t, 5, data.Train.Len()+data.Test.Len())
	require.Positive(t, data.Test.Len())
	rows := map[string]int{}
	for _, set := range [][]uint8{data.Train.Images, data.Test.Images} {
		for i := 0; i < len(set); i += 2 {
			rows[strconv.Itoa(int(set[i]))+" "+strconv.Itoa(int(set[i+1]))]++
		}
	}
	require.Equal(t, map[string]int{"255 255": 1, "0 0": 2, "255 153": 1, "128 128": 1}, rows)
	require.Equal(t, 2, data.Train.Cols)
	again, err := table.Load(file(t, text), shape())
	require.NoError(t, err)
	require.Equal(t, data, again)
}

// TestOneRowMovesOneRow: without one of 570 rows, all other rows stay on their side.
func TestOneRowMovesOneRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	lines := make([]string, 570)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d,%d,%d\n", rng.IntN(1000), rng.IntN(1000), rng.IntN(2))
	}
	load := func(lines []string) mnist.Data {
		shape := params.Table{Label: "y", Classes: []string{"0", "1"}, Columns: []params.Column{{Name: "a", High: 1000},
			{Name: "b", High: 1000}}}
		data, err := table.Load(file(t, "a,b,y\n"+strings.Join(lines, "")), shape)
		require.NoError(t, err)
		return data
	}
	whole := load(lines)
	require.InDelta(t, len(lines)/5, whole.Test.Len(), 48, "five standard deviations")
	for _, gone := range []int{0, 1, 17, 285, 569} {
		less := load(slices.Delete(slices.Clone(lines), gone, gone+1))
		sides := []int{whole.Train.Len() - less.Train.Len(), whole.Test.Len() - less.Test.Len()}
		require.Contains(t, [][]int{{1, 0}, {0, 1}}, sides, "row %d", gone)
		for _, s := range [][2]mnist.Set{{whole.Train, less.Train}, {whole.Test, less.Test}} {
			require.True(t, within(s[1], s[0]), "row %d", gone)
		}
	}
}

// testRows returns which rows are for testing. The column "row" has the number of each row, and the
// bounds 0 and 255 in all tables.
func testRows(t *testing.T, text string, shape params.Table) (rows []uint8) {
	t.Helper()
	data, err := table.Load(file(t, text), shape)
	require.NoError(t, err)
	at := slices.IndexFunc(shape.Columns, func(c params.Column) bool { return c.Name == "row" })
	for i := range data.Test.Len() {
		rows = append(rows, data.Test.Image(i)[at])
	}
	return rows
}

// TestSidesAreOfTheFile: which rows are for testing depends on the file alone. Bounds, classes and
// columns of an epoch, and the order of the file's columns, move no row to the other side.
func TestSidesAreOfTheFile(t *testing.T) {
	row := params.Column{Name: "row", High: 255}
	of := func(columns []params.Column, classes ...string) params.Table {
		return params.Table{Label: "y", Classes: classes, Columns: columns}
	}
	text, turned, want := "row,b,c,y\n", "y,c,b,row\n", []uint8{}
	for i := range 200 {
		text += fmt.Sprintf("%d, %d,%d.5,%d\n", i, i*i%97, i%7, i%2)
		turned += fmt.Sprintf("%d,%d.5,%d,%d\n", i%2, i%7, i*i%97, i)
		said := fmt.Sprintf("spdl/table/v2b\x00%d\x00c\x00%d.5\x00row\x00%d\x00y\x00%d\x00", i*i%97, i%7, i, i%2)
		if hash := sha256.Sum256([]byte(said)); binary.BigEndian.Uint64(hash[:])%5 == 0 {
			want = append(want, uint8(i))
		}
	}
	base := of([]params.Column{row, {Name: "b", High: 100}, {Name: "c", High: 10}}, "0", "1")
	require.Equal(t, want, testRows(t, text, base))
	require.Equal(t, want, testRows(t, turned, base), "the order of the file's columns")
	require.Equal(t, want, testRows(t, text, of([]params.Column{row, {Name: "b", High: 101}, {Name: "c", Low: 1, High: 3}},
		"0", "1")), "bounds")
	require.Equal(t, want, testRows(t, text, of(base.Columns, "1", "0")), "the order of the classes")
	require.Equal(t, want, testRows(t, text, of([]params.Column{{Name: "c", High: 10}, row}, "0", "1")), "columns")
}

// within reports whether part is whole without some of its rows, in the same order.
func within(part, whole mnist.Set) bool {
	at := 0
	for i := range whole.Len() {
		if at < part.Len() && slices.Equal(whole.Subset([]int{i}).Images, part.Subset([]int{at}).Images) {
			at++
		}
	}
	return at == part.Len()
}

// TestTheTestSetHasAllClasses: this also holds if the classes alternate or are sorted.
func TestTheTestSetHasAllClasses(t *testing.T) {
	for _, of := range []func(i int) int{func(i int) int { return i % 5 }, func(i int) int { return i / 100 }} {
		var text strings.Builder
		text.WriteString("x,y\n")
		for i := range 500 {
			text.WriteString(strconv.Itoa(i) + "," + strconv.Itoa(of(i)) + "\n")
		}
		path := file(t, text.String())
		s, _, err := table.Shape(path, "y", "")
		require.NoError(t, err)
		data, err := table.Load(path, s)
		require.NoError(t, err)
		require.InDelta(t, 100, data.Test.Len(), 45, "five standard deviations of a binomial")
		seen := map[uint8]bool{}
		for _, label := range data.Test.Labels {
			seen[label] = true
		}
		require.Len(t, seen, 5)
	}
}

// TestRefuses: each error names the line and the column, and not the value, which is private.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"missing", "age,diagnosis,dose\n1,ill,2\n3,well,\n", `patients.csv line 3, column "dose": the value is missing`},
		{"missing label", "age,diagnosis,dose\n1, ,2\n", `line 2, column "diagnosis": the value is missing`},
		{"no number", "age,diagnosis,dose\n1,ill,2\nn/a,well,2\n", `line 3, column "age": no finite number`},
		{"not finite", "age,diagnosis,dose\n1,ill,NaN\n", `line 2, column "dose": no finite number`},
		{"too large", "age,diagnosis,dose\n1,ill,1e400\n", `line 2, column "dose": no finite number`},
		{"after a long value", "age,diagnosis,dose\n1,\"ill\n\n\",2\n2,well,x\n", `line 5, column "dose": no finite number`},
		{"ragged", "age,diagnosis,dose\n1,ill,2\n1,ill\n", `line 3 has 2 values, the header has 3 columns`},
		{"quote", "age,diagnosis,dose\n1,ill,\"2\n", `patients.csv: `},
		{"empty", "", "patients.csv is empty, want a header"},
		{"name twice", "age,diagnosis,age\n", `column 3 of the header is "age", want a name, each once`},
		{"a given name twice", "column 3,diagnosis,\n", `column 3 of the header is "column 3", want a name, each once`},
		{"no label", "age,dose\n", `patients.csv has no column "diagnosis", it has ["age" "dose"]`},
		{"colons", "age:diagnosis\n", `no column "diagnosis", it has ["age:diagnosis"]`},
		{"one class", "age,diagnosis,dose\n1,ill,2\n2,ill,3\n",
			`has the labels ["ill"] in column "diagnosis", want at least two`},
		{"no rows", "age,diagnosis,dose\n", "want at least two different ones"},
		{"label alone", "diagnosis\nill\nwell\n", `has the column "diagnosis" alone`},
		{"apart", "age,diagnosis,dose\n-1e308,ill,1\n1e308,well,2\n",
			`column "age": from -1e+308 to 1e+308, want ends at most 1.7976931348623157e+308 apart`},
		{"name", "age,diagnosis,größe\n1,ill,2\n", `patients.csv column 3 of the header "gr\u00f6\u00dfe" has byte ` +
			`0xC3 at 2, want printable ASCII`},
		{"long name", strings.Repeat("a", 129) + ",diagnosis\n",
			"patients.csv column 1 of the header has 129 bytes, at most 128"},
		{"class", "age,diagnosis,dose\n1,\xe4,2\n",
			`patients.csv line 2, column "diagnosis": the label is not 1 to 128 bytes of printable ASCII`},
		{"UTF-16", "a\x00,\x00b\x00\n", "patients.csv must be UTF-8 or ASCII, not UTF-16"},
		{"UTF-16 with its mark", "\xff\xfe\"\x00a\x00\"\x00\n\x00", "not UTF-16: iconv -f UTF-16 -t UTF-8 makes it so"},
		{"binary", "a,long name\x00", "patients.csv has bytes 0: want a CSV or Parquet file"},
		{"spreadsheet", "PK\x03\x04\x14\x00\x06", "is no CSV or Parquet file but a spreadsheet or a ZIP archive: save one " +
			"sheet as CSV"},
		{"compressed", "\x1f\x8b\x08\x00", "patients.csv is no CSV or Parquet file but compressed: gunzip unpacks it"},
		{"JSON", "[\n{\"age\":1}]", "patients.csv is no CSV or Parquet file but JSON: write a line of values for each row"},
		{"JSON lines", "{\"age\":1}\n{\"age\":2}\n", "patients.csv is no CSV or Parquet file but JSON"},
		{"two separators", "age;diagnosis;dose\n1,\"ill\",2\n", `patients.csv has ';' between the names of the header and ` +
			`',' in line 2, want one of them everywhere: sed '1s/;/,/g' changes the header`},
		{"two separators, no quotes", "age,diagnosis,dose\n1\till\t2\n", `has ',' between the names of the header and '\t'`},
		{"spaces", "age diagnosis dose\n1 ill 2\n", `it has ["age diagnosis dose"]; spaces separate no values, want commas`},
		{"hexadecimal", "age,diagnosis,dose\n0x1p-2,ill,2\n", `patients.csv line 2, column "age": no finite number`},
		{"underscores", "age,diagnosis,dose\n0x1_0p0,ill,2\n", `patients.csv line 2, column "age": no finite number`},
		{"thousands", "age,diagnosis,dose\n1_000,ill,2\n", `patients.csv line 2, column "age": no finite number`},
		{"constant", "age,diagnosis,dose\n1,ill,2\n2,well,2\n", `column "dose": 2 in every row`},
	} {
		_, _, err := table.Shape(file(t, c.text), "diagnosis", "")
		require.ErrorIs(t, err, table.ErrTable, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	var many strings.Builder
	many.WriteString("x,diagnosis\n")
	for i := range 257 {
		many.WriteString("1,c" + strconv.Itoa(i) + "\n")
	}
	_, _, err := table.Shape(file(t, many.String()), "diagnosis", "")
	require.ErrorContains(t, err, `line 258, column "diagnosis": one class more than 256`)

	for _, c := range []struct{ name, text, want string }{
		{"unknown label", patients + "1,dead,0\n", `line 7, column "diagnosis": the label is none of the chain's ` +
			`classes: ill, well`},
		{"column", "age,diagnosis\n", `patients.csv has no column "dose"`},
		{"few", "age,diagnosis,dose\n1,ill,2\n", "of the 1 rows of patients.csv, "},
		{"no number", patients + "x,ill,0\n", `line 7, column "age": no finite number`},
	} {
		_, err := table.Load(file(t, c.text), shape())
		require.ErrorIs(t, err, table.ErrTable, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, err = table.Load(t.TempDir(), shape())
	require.ErrorContains(t, err, "not a regular file")
	_, err = table.Load(filepath.Join(t.TempDir(), "none.csv"), shape())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(patients))
	f.Add([]byte("dose,diagnosis,age\n1,ill,\"2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := file(t, string(text))
		if s, _, err := table.Shape(path, "diagnosis", ""); err == nil {
			for _, c := range s.Columns {
				require.Less(t, c.Low, c.High)
			}
		}
		data, err := table.Load(path, shape())
		if err != nil {
			return
		}
		require.Len(t, data.Train.Images, 2*data.Train.Len())
		for _, label := range data.Train.Labels {
			require.Less(t, label, uint8(2))
		}
	})
}

// TestAHeaderOfManyColumns: a file with more columns than any model has inputs is rejected quickly,
// with an error that lists a few of the columns.
func TestAHeaderOfManyColumns(t *testing.T) {
	var header, row strings.Builder
	for i := range 200_000 {
		header.WriteString("c" + strconv.Itoa(i) + ",")
		row.WriteString("1,")
	}
	for _, c := range []struct{ text, want string }{
		{header.String() + "x\n", `"c15"] and 199985 more`},
		{header.String() + "diagnosis\n1\n", `line 2 has 1 values, the header has 200001 columns`},
		{header.String() + "diagnosis\n1," + row.String() + "ill\n",
			`line 2 has 200002 values, the header has 200001 columns`},
	} {
		_, _, err := table.Shape(file(t, c.text), "diagnosis", "")
		require.ErrorContains(t, err, c.want)
		require.Less(t, len(err.Error()), 2_000)
	}
}

// TestGroups: Shape counts groups and leaves their column out of the inputs. All rows of a group
// are on one side, and removing one group moves no other group.
func TestGroups(t *testing.T) {
	lines := make([]string, 600)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d,p%d,%d\n", i%97, i%200, i%2)
	}
	path := file(t, "a,id,y\n"+strings.Join(lines, ""))
	shape, units, err := table.Shape(path, "y", "id")
	require.NoError(t, err)
	require.Equal(t, 200, units)
	require.Equal(t, []params.Column{{Name: "a", High: 96}}, shape.Columns)
	sides := func(lines []string) (train, test mnist.Set) {
		data, err := table.Load(file(t, "a,id,y\n"+strings.Join(lines, "")), shape)
		require.NoError(t, err)
		return data.Train, data.Test
	}
	train, test := sides(lines)
	require.Len(t, mnist.ByGroup(train.Groups), 200-len(mnist.ByGroup(test.Groups)))
	require.Equal(t, 3*len(mnist.ByGroup(test.Groups)), test.Len())
	less, lessTest := sides(slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		return strings.Contains(l, "p7,")
	}))
	require.Equal(t, 597, less.Len()+lessTest.Len())
	require.True(t, within(less, train) && within(lessTest, test))

	half, err := train.Part(func(labels []uint8) ([]int, error) { return []int{1, 3}, nil })
	require.NoError(t, err)
	require.Equal(t, 6, half.Len(), "two groups of three rows")
	_, _, err = table.Shape(path, "y", "patient")
	require.ErrorContains(t, err, "no column \"patient\"")
	_, _, err = table.Shape(file(t, "a,id,y\n1,p,0\n2,,1\n"), "y", "id")
	require.ErrorContains(t, err, "the value is missing")
}
