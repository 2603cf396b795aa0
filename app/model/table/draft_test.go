package table_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
)

// visits writes a file as hospitals have them: an id, a date, free text, a column that is constant, one that is
// almost empty, missing numbers, categories and codes. sep separates, and point is that of numbers.
func visits(rows int, sep, point string) string {
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	line := func(values ...string) { text.WriteString(strings.Join(values, sep) + "\n") }
	line(`""`, "patient_id", "date", "remark", "age", "crp", "smoker", "arm", "ward", "rare", "mixed", "outcome")
	for i := range rows {
		crp, rare, mixed := strings.Replace(fmt.Sprintf("%.2f", math.Exp(random.NormFloat64())), ".", point, 1), "NA", ""
		if i%10 == 0 {
			crp = "NA"
		}
		if i%50 == 0 {
			rare = "3"
		}
		if i%3 == 0 {
			mixed = fmt.Sprintf("<%d", i)
		} else {
			mixed = fmt.Sprint(i)
		}
		line(fmt.Sprintf("%q", fmt.Sprint(i+1)), fmt.Sprintf("p%05d", i/3), fmt.Sprintf("2024-01-%02d", 1+i%28),
			fmt.Sprintf("seen by nurse %d", i), fmt.Sprint(20+random.IntN(70)), crp, []string{"never", "former", "current"}[i%3],
			[]string{"0", "1"}[i%2], "north", rare, mixed, []string{"alive", "alive", "alive", "dead"}[i%4])
	}
	return text.String()
}

// TestDraft: each column becomes what it is, whatever separates the values and whatever the point of numbers is;
// what becomes public is round, and the drafted schema reads its file.
func TestDraft(t *testing.T) {
	for _, c := range [][3]string{{",", ".", ""}, {";", ",", "\xef\xbb\xbf"}, {"\t", ".", ""}, {"|", ",", ""}} {
		path := file(t, c[2]+visits(600, c[0], c[1]))
		d, err := table.DraftSchema([]string{path}, "outcome", "")
		require.NoError(t, err)
		require.Equal(t, 600, d.Rows)
		typical := 55.
		crp := d.Schema.Columns[1]
		require.Equal(t, []string{"alive", "dead"}, d.Schema.Classes)
		require.Equal(t, 0.25, d.Schema.Rate)
		require.Equal(t, params.Column{Name: "age", Low: 20, High: 90, Typical: &typical}, d.Schema.Columns[0])
		require.Equal(t, "crp", crp.Name)
		require.Equal(t, 0., crp.Low)
		require.Equal(t, &params.Missing{Fill: *crp.Typical, Indicator: true, Share: 0.1}, crp.Missing)
		require.Equal(t, []string{"age", "crp", "smoker", "arm"}, names(d.Schema))
		require.Equal(t, []string{"current", "former", "never"}, d.Schema.Columns[2].Values)
		require.InDelta(t, 1, sum(d.Schema.Columns[2].Shares), 0.05+1e-9)
		require.LessOrEqual(t, sum(d.Schema.Columns[2].Shares), 1+1e-9)
		why := map[string]string{}
		for _, x := range d.Columns {
			if x.Kind == table.KindLeftOut {
				why[x.Name] = x.Note
			}
		}
		require.Equal(t, map[string]string{"column 1": "it counts the rows", "date": "dates: make numbers of them, as " +
			"years or days since an event", "remark": "an id or free text: more than 32 different texts",
			"patient_id": "an id, by its name", "rare": "missing in 98 % of the rows",
			"ward":  "the same in every row that has it: it tells nothing",
			"mixed": "200 rows have no number, the first in line 2 of patients.csv: correct them"}, why)
		require.Contains(t, strings.Join(d.Notes, "\n"), `"patient_id" repeats: with --group "patient_id"`)
		require.Equal(t, c[1] == ",", strings.Contains(strings.Join(d.Notes, "\n"), "commas in numbers"))
		units, err := table.Units(path, d.Schema)
		require.NoError(t, err)
		require.Equal(t, 600, units)
	}
	d, err := table.DraftSchema([]string{file(t, visits(600, ",", "."))}, "outcome", "patient_id", "age")
	require.NoError(t, err)
	require.Equal(t, 200, d.Units)
	require.Equal(t, "patient_id", d.Schema.Group)
	require.Equal(t, []string{"crp", "smoker", "arm"}, names(d.Schema))
}

func names(t params.Table) (out []string) {
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

func sum(all []float64) (s float64) {
	for _, x := range all {
		s += x
	}
	return s
}

// TestBoundsRoundOutward: bounds hold all values that are within four standard deviations of the mean, lie on a
// grid of 1, 2 or 5 times a power of ten, and change with few rows: one row more hardly moves them.
func TestBoundsRoundOutward(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		scale, at := math.Pow(10, float64(random.IntN(9)-4)), 100*random.NormFloat64()
		text, low, high := "x,y\n", math.Inf(1), math.Inf(-1)
		for i := range 50 {
			x := (at + 10*random.NormFloat64()) * scale
			low, high = min(low, x), max(high, x)
			text += fmt.Sprintf("%v,%d\n", x, i%2)
		}
		path := file(t, text)
		d, err := table.DraftSchema([]string{path}, "y", "")
		require.NoError(t, err)
		c := d.Schema.Columns[0]
		require.LessOrEqual(t, c.Low, low)
		require.GreaterOrEqual(t, c.High, high)
		require.Less(t, c.High-c.Low, 1.6*(high-low), "a step is at most a fifth... of the width, at each end")
		for _, x := range []float64{c.Low, c.High, *c.Typical} {
			require.LessOrEqual(t, len(strings.TrimLeft(fmt.Sprintf("%e", x), "-")), len("1.23456e+00")+1, "%v is not round", x)
		}
		_, err = table.Units(path, d.Schema)
		require.NoError(t, err)
	}
	text := "x,y\n1000000,1\n"
	for i := range 400 {
		text += fmt.Sprintf("%d,%d\n", i%97, i%2)
	}
	d, err := table.DraftSchema([]string{file(t, text)}, "y", "")
	require.NoError(t, err)
	require.Less(t, d.Schema.Columns[0].High, 500000., "one row far away does not set the bound")
	require.Contains(t, d.Columns[1].Note, "some values are beyond the bounds")
}

// TestDraftOfRareTexts: the name of a category that few rows have does not become public, and the rarer of two
// classes is the positive one.
func TestDraftOfRareTexts(t *testing.T) {
	text := "ward,born,k,ill\n"
	for i := range 100 {
		ward, born := []string{"a", "b"}[i%2], "here"
		if i < 4 {
			ward = "director's suite"
			born = "elsewhere"
		}
		text += fmt.Sprintf("%s,%s,%d,%s\n", ward, born, i%7, map[bool]string{true: "no", false: "yes"}[i%10 == 0])
	}
	d, err := table.DraftSchema([]string{file(t, text)}, "ill", "")
	require.NoError(t, err)
	require.Equal(t, []string{"yes", "no"}, d.Schema.Classes)
	require.Equal(t, 0.1, d.Schema.Rate)
	require.Equal(t, []string{"a", "b"}, d.Schema.Columns[0].Values)
	require.NotContains(t, fmt.Sprint(d), "director")
	require.NotContains(t, fmt.Sprint(d), "elsewhere")
	require.Equal(t, []string{"ward", "k"}, names(d.Schema), "of born one value is left")
}

// TestDraftFails: an error says what to do.
func TestDraftFails(t *testing.T) {
	many := "x,y\n"
	for i := range 200 {
		many += fmt.Sprintf("%d,%d\n", i%9, i)
	}
	for text, want := range map[string]string{
		"x,y\n1,a\n2,\n3,NA\n": "2 of 3 rows have no label in column \"y\", the first in line 3 of patients.csv: leave",
		many:                   "more than 64 different labels: is it a number?",
		"x,y\n1,a\n2,a\n":      "want at least two different ones",
		"x,y\n1,a\n1,b\n":      `no column of patients.csv can be an input: "x": the same in every row`,
		"x;y\n1;ä\n2;b\n":      "want printable ASCII",
		"x,z\n1,a\n":           `has no column "y", it has ["x" "z"]`,
		"x,y\n1,a,3\n":         "line 2 has 3 values, the header has 2 columns: the first line names every column",
	} {
		_, err := table.DraftSchema([]string{file(t, text)}, "y", "")
		require.ErrorIs(t, err, table.ErrTable)
		require.ErrorContains(t, err, want)
	}
	_, err := table.DraftSchema([]string{file(t, "p,x,y\na,1,a\n,2,b\nb,3,a\n")}, "y", "p")
	require.ErrorContains(t, err, `line 3, column "p": the value is missing`)
}

// TestOneErrorHasAllColumns: the first fault of each column is in one error, which says what drafts a schema; so are
// all columns that are constant.
func TestOneErrorHasAllColumns(t *testing.T) {
	path := file(t, "id,site,ef,one,two,y\np1,north,40,1,2,a\np2,south,,1,2,b\np3,x,41,1,2,a\n")
	_, _, err := table.Shape(path, "y", "")
	require.EqualError(t, err, `bad table: patients.csv line 2, column "id": no finite number; line 2, column "site": no `+
		`finite number; line 3, column "ef": the value is missing; column "one": 1 in every row, leave it out, it tells `+
		`nothing; column "two": 2 in every row, leave it out, it tells nothing: `+
		"`spdl schema draft \""+path+"\" --label \"y\"` drafts a schema with categories and missing values, without the "+
		"columns that are no inputs")
	var header, row strings.Builder
	for i := range 40 {
		fmt.Fprintf(&header, "c%d,", i)
		row.WriteString("x,")
	}
	_, _, err = table.Shape(file(t, header.String()+"y\n"+row.String()+"a\n"), "y", "")
	require.ErrorContains(t, err, "; and 24 more columns: `spdl")
	shape := params.Table{Label: "y", Classes: []string{"a"}, Columns: []params.Column{{Name: "ef", High: 1},
		{Name: "one", High: 2}, {Name: "site", Values: []string{"north"}}}}
	_, err = table.Units(path, shape)
	require.EqualError(t, err, `bad table: patients.csv line 3, column "y": the label is none of the chain's classes: a; `+
		`line 3, column "ef": the value is missing; line 3, column "site": the value is none of the chain's: ["north"]`)
}

// TestFit: shares are of the rows, a value of the schema that no row has is named, and faults are kept.
func TestFit(t *testing.T) {
	shape := params.Table{Label: "y", Classes: []string{"a", "b"}, Columns: []params.Column{
		{Name: "x", Low: 0, High: 10, Missing: &params.Missing{Fill: 4}},
		{Name: "k", Values: []string{"p", "q", "r"}, Others: true}, {Name: "z", Low: 0, High: 1}}}
	path := file(t, "k,x,z,y\np,-2,0,a\nq,20,1,a\nnew,,1,b\n,5,?,b\n")
	fit, err := table.FitOf(path, shape)
	require.NoError(t, err)
	require.Equal(t, table.Fit{File: path, Rows: 4, Units: 4, Labels: map[string]int{"a": 2, "b": 2},
		Columns: []table.Fitted{
			{Name: "x", Mean: 19. / 4, Missing: 0.25, Clipped: 0.5, Counts: []int{}},
			{Name: "k", Missing: 0.25, Unknown: 0.25, Unseen: []string{"r"}, Counts: []int{1, 1, 0}},
			{Name: "z", Mean: 0.5, Missing: 0.25, Counts: []int{}}},
		Faults: []string{`line 5, column "z": no finite number`}}, fit)
	_, err = table.FitOf(file(t, "k,x,y\n"), shape)
	require.ErrorContains(t, err, `no column "z"`)
}

// TestJoin: files of sites may differ in separators, points and columns, and each row has the side and the levels that
// it has in its part. A part is the site's file, or a copy of it without the columns that others lack. The numbers of
// rows, which begin in each, are no input. An error names the file.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	join := func(paths ...string) (all string, parts []*table.Part, err error) {
		folder := t.TempDir()
		all = filepath.Join(folder, "all.csv")
		parts, err = table.Join(paths, all, folder)
		return all, parts, err
	}
	var north, south, wide strings.Builder
	north.WriteString(",age,crp,remark,y\n")
	south.WriteString("\xef\xbb\xbf;y;crp;age;remark\r\n")
	wide.WriteString("ward;y;crp;age;remark;bmi\n")
	for i := range 300 {
		fmt.Fprintf(&north, "%d,%d,%d.5,\"%c, b\",%d\n", i, 30+i%40, i%7, 'a'+i%3, i%2)
		fmt.Fprintf(&south, "%d;%d;%d,25;%d;%c, b\r\n", i, i%2, i%9, 40+i%30, 'a'+i%3)
		fmt.Fprintf(&wide, "w%d;%d;%d,25;%d;%c, b;%d\n", i%5, i%2, i%9, 40+i%30, 'a'+i%3, i%11)
	}
	plain := []string{write("north.csv", north.String()), write("south.v2.csv", south.String())}
	for _, paths := range [][]string{plain, {plain[0], write("wide.csv", wide.String())}} {
		all, parts, err := join(paths...)
		require.NoError(t, err)
		d, err := table.DraftSchema(paths, "y", "")
		require.NoError(t, err)
		require.Equal(t, 600, d.Rows)
		require.Len(t, d.Schema.Columns, 3)
		want, err := table.Load(all, d.Schema)
		require.NoError(t, err)
		var train, test []uint8
		for _, p := range parts {
			require.Equal(t, 300, p.Rows)
			one, err := table.Load(p.Path, d.Schema)
			require.NoError(t, err)
			train, test = append(train, one.Train.Images...), append(test, one.Test.Images...)
		}
		require.Equal(t, want.Train.Images, train)
		require.Equal(t, want.Test.Images, test)
	}
	_, parts, err := join(plain...)
	require.NoError(t, err)
	require.Equal(t, []table.Part{{Name: "north", Path: plain[0], Rows: 300},
		{Name: "south.v2", Path: plain[1], Rows: 300}}, []table.Part{*parts[0], *parts[1]}, "no copies")

	_, _, err = join(plain[0], write("ragged.csv", ",age,crp,remark,y\n1,2,0\n"))
	require.ErrorContains(t, err, "ragged.csv line 2 has 3 values, the header has 5 columns")
	_, _, err = join(plain[0], write("north.txt", ""))
	require.ErrorContains(t, err, "north.txt is empty")
	_, _, err = join(plain[0], plain[0])
	require.ErrorContains(t, err, "want a name of its own for each site: rename one")
}

// TestSplit: each text of a column has a file with its rows, and each row is on the side on which it is in the
// whole file. Without a column whole groups are dealt.
func TestSplit(t *testing.T) {
	text := visits(600, ";", ",")
	path, folder := file(t, text), t.TempDir()
	d, err := table.DraftSchema([]string{path}, "outcome", "", "smoker")
	require.NoError(t, err)
	whole, err := table.Load(path, d.Schema)
	require.NoError(t, err)
	parts, err := table.Split(path, "smoker", "", folder, 3)
	require.NoError(t, err)
	require.Len(t, parts, 3)
	tested := 0
	for i, name := range []string{"current", "former", "never"} {
		require.Equal(t, []any{name, fmt.Sprintf("site%d-%s.csv", i, name), 200},
			[]any{parts[i].Name, filepath.Base(parts[i].Path), parts[i].Rows})
		part, err := table.Load(parts[i].Path, d.Schema)
		require.NoError(t, err)
		tested += part.Test.Len()
	}
	require.Equal(t, whole.Test.Len(), tested)
	_, err = table.Split(path, "smoker", "", t.TempDir(), 2)
	require.ErrorContains(t, err, `column "smoker" of patients.csv has more than 2 different texts`)
	_, err = table.Split(path, "ill", "", t.TempDir(), 2)
	require.ErrorContains(t, err, `no column "ill"`)

	folder = t.TempDir()
	parts, err = table.Split(path, "", "patient_id", folder, 4)
	require.NoError(t, err)
	require.Len(t, parts, 4)
	rows, of := 0, map[string]string{}
	for _, p := range parts {
		require.InDelta(t, 150, p.Rows, 100)
		rows += p.Rows
		content, err := os.ReadFile(filepath.Join(folder, filepath.Base(p.Path)))
		require.NoError(t, err)
		for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
			id := strings.Split(line, ";")[1]
			require.Contains(t, []string{"", p.Name}, of[id], "a group is with one member")
			of[id] = p.Name
		}
	}
	require.Equal(t, 600, rows)
}

// TestDraftQuotedCommas: numbers with commas between commas are named as that, whatever their number.
func TestDraftQuotedCommas(t *testing.T) {
	for _, rows := range []int{12, 100} {
		text := "bmi,age,y\n"
		for i := range rows {
			text += fmt.Sprintf("\"%d,%d\",%d,%d\n", 18+i%7, i, i%9, i%2)
		}
		d, err := table.DraftSchema([]string{file(t, text)}, "y", "")
		require.NoError(t, err)
		require.Len(t, d.Schema.Columns, 1)
		require.Contains(t, fmt.Sprint(d.Columns), "commas within numbers, as 1,5 or 1,500")
	}
}

// FuzzDraft: whatever a file holds, a draft that is made reads the file.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(patients, "diagnosis", "y")))
	f.Add([]byte("x;y\n1,5;a\n2;b\n"))
	f.Add([]byte("x|k|y\n1e308|p|a\n-1e308|p|b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := file(t, string(text))
		d, err := table.DraftSchema([]string{path}, "y", "")
		if err != nil {
			return
		}
		m := params.Model{Kind: params.ModelSoftmax, Inputs: uint32(d.Schema.Inputs() + 1),
			Classes: uint32(len(d.Schema.Classes)), Pool: 1, PixelMean: params.TableMean, PixelScale: params.TableScale,
			NoBias: true, Table: &d.Schema}
		if err := d.Schema.Validate(m); err != nil {
			require.ErrorContains(t, err, "at most", "more than a model may have")
			return
		}
		_, err = table.Units(path, d.Schema)
		require.NoError(t, err)
	})
}

// TestDraftTwoValues: two numbers are categories.
func TestDraftTwoValues(t *testing.T) {
	text := "answer,code,share,y\n"
	for i := range 40 {
		text += fmt.Sprintf("%d,%d,%g,%d\n", i%2, 1+i%2, float64(i)/39, i%4/3)
	}
	d, err := table.DraftSchema([]string{file(t, text)}, "y", "")
	require.NoError(t, err)
	columns := d.Schema.Columns
	require.Equal(t, [][]string{{"0", "1"}, {"1", "2"}}, [][]string{columns[0].Values, columns[1].Values})
	require.Empty(t, d.Schema.Columns[2].Values)
}

// files writes files with names of their own.
func files(t *testing.T, texts map[string]string) (paths []string) {
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		paths = append(paths, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(paths[len(paths)-1], []byte(texts[name]), 0o600))
	}
	return paths
}

// TestDraftOfFiles: the draft of several files, in any order of columns and separators, is that of one file with all
// rows, but for what the files count themselves.
func TestDraftOfFiles(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(visits(600, ",", "."), "\n"), "\n")
	whole, err := table.DraftSchema(files(t, map[string]string{"all.csv": strings.Join(lines, "")}), "outcome", "")
	require.NoError(t, err)
	rest := strings.ReplaceAll(lines[0]+strings.Join(lines[201:], ""), ",", ";")
	d, err := table.DraftSchema(files(t, map[string]string{"a.csv": strings.Join(lines[:201], ""),
		"b.csv": strings.ReplaceAll(rest, ".", ",")}), "outcome", "")
	require.NoError(t, err)
	require.Equal(t, whole.Schema, d.Schema)
	require.Equal(t, []int{600, 600}, []int{d.Rows, d.Units})

	// Row numbers begin again in each file, 3.0 is 3, and a column that is not of all files is left out.
	d, err = table.DraftSchema(files(t, map[string]string{
		"a.csv": "n,x,k,only,s,y\n" + repeat(70, func(i int) string {
			return fmt.Sprintf("%d,%d,%d,1,%d,%d", i, i%9, i%2, i%3, i%2)
		}),
		"b.csv": "y,s,k,x,n\n" + repeat(70, func(i int) string {
			return fmt.Sprintf("%d,m,%d.0,%d.0,%d", i%2, i%2, i%9, i)
		})}), "y", "")
	require.NoError(t, err)
	require.Equal(t, []string{"x", "k"}, names(d.Schema))
	require.Equal(t, []string{"0", "1"}, d.Schema.Columns[1].Values)
	notes := map[string]string{}
	for _, c := range d.Columns {
		notes[c.Name] = c.Note
	}
	require.Equal(t, "it counts the rows", notes["n"])
	require.Equal(t, "no column of all files, but of a.csv", notes["only"])
	require.Equal(t, "numbers in a.csv and texts in b.csv: write one as the other", notes["s"])

	_, err = table.DraftSchema(files(t, map[string]string{"a.csv": "x,y\n1,a\n2,\n", "b.csv": "x,z\n1,a\n",
		"c.csv": "x,y\n1\n"}), "y", "")
	for _, want := range []string{"a.csv 1 of 2 rows have no label in column \"y\"", "b.csv has no column \"y\"",
		"c.csv line 2 has 1 values"} {
		require.ErrorContains(t, err, want)
	}
	_, err = table.DraftSchema(files(t, map[string]string{"a.csv": "x,y\n1,a\n2,b\n", "b.csv": "x,y\n1,a\n"}), "y", "",
		"w")
	require.ErrorContains(t, err, `no column "w" in a.csv and b.csv`)
}

func repeat(rows int, line func(int) string) (text string) {
	for i := range rows {
		text += line(i) + "\n"
	}
	return text
}

// TestDraftOfForeignTexts: texts that are no ASCII and texts that few rows have are counted apart.
func TestDraftOfForeignTexts(t *testing.T) {
	wards := []string{"Bonn", "Köln", "K\xf6ln", "Ulm"} // the third in Latin-1
	path := file(t, "ward,y\nJena,0\n"+repeat(80, func(i int) string {
		return fmt.Sprintf("%s,%d", wards[i%4], i%3/2)
	}))
	d, err := table.DraftSchema([]string{path}, "y", "")
	require.NoError(t, err)
	require.Equal(t, []string{"Bonn", "Ulm"}, d.Schema.Columns[0].Values)
	require.Equal(t, "2 texts are no values, as they are no printable ASCII: write ü as ue; 1 texts that fewer than 5 "+
		"rows have are no values", d.Columns[1].Note)
}

// TestDraftDoubtsLeaks: a column that is missing in the rows of one label alone, and one whose values are of one label
// each, are noted; not one that is left out, nor by a handful of rows, nor of three labels.
func TestDraftDoubtsLeaks(t *testing.T) {
	draft := func(rows, labels int, without ...string) (leaks []string) {
		text := "age,day,state,score,often,y\n" + repeat(rows, func(i int) string {
			day := []string{"", fmt.Sprint(i * 7 % 50)}[i%2]
			if i == 4 {
				day = "3" // nearly all
			}
			return fmt.Sprintf("%d,%s,%s,%d,%s,%d", i*31%60, day, []string{"home", "ward"}[i%2], i%2*100+i*17%90,
				[]string{"a", "a", "b"}[i%3], i%2+i%labels/2)
		})
		d, err := table.DraftSchema([]string{file(t, text)}, "y", "", without...)
		require.NoError(t, err)
		for _, note := range d.Notes {
			if strings.Contains(note, "is it known only once the label is?") {
				leaks = append(leaks, note)
			}
		}
		return leaks
	}
	require.Equal(t, []string{
		`column "day": missing in 99 % of the rows with the label "0" and in 0 % of the others: is it known only once the ` +
			`label is? --without "day" leaves it out`,
		`column "state": each of its values is of one label alone: is it known only once the label is? --without "state" ` +
			`leaves it out`,
		`column "score": each of its values is of one label alone: is it known only once the label is? --without "score" ` +
			`leaves it out`}, draft(200, 2))
	require.Empty(t, draft(200, 2, "day", "state", "score"))
	require.Empty(t, draft(18, 2))
	require.Empty(t, draft(200, 3))
}

// TestApart: a column is named if most of a file's texts are of no other file, and if they are none of the table's.
func TestApart(t *testing.T) {
	shape := params.Table{Label: "y", Classes: []string{"0", "1"}, Columns: []params.Column{{Name: "s", Others: true,
		Values: []string{"ja", "nein", "no", "yes"}}}}
	paths := files(t, map[string]string{"a.csv": "s,y\nno,0\nyes,1\nyes,1\n", "b.csv": "s,y\nyes,0\nno,1\nja,1\n",
		"c.csv": "s,y\nja,0\nnein,1\nnein,1\n", "d.csv": "s,y\nsi,0\nsi,1\nno,1\n"})
	var fits []table.Fit
	for _, path := range paths {
		fit, err := table.FitOf(path, shape)
		require.NoError(t, err)
		fits = append(fits, fit)
	}
	list := table.Apart(fits, shape)
	require.Len(t, list, 2)
	require.Contains(t, list[0], `c.csv: column "s": 66.7 % of its texts no other file has, as ["nein"], and none is no `+
		`as in all others: write them alike`)
	require.Contains(t, list[1], `d.csv: column "s": 66.7 % of its texts are none of ["ja" "nein" "no" "yes"]`)
	require.Empty(t, table.Apart(fits[:2], shape))

	fits = []table.Fit{{File: "a", Columns: []table.Fitted{{Counts: []int{0, 40, 60, 0}}}},
		{File: "b", Columns: []table.Fitted{{Counts: []int{0, 60, 40, 0}}}},
		{File: "c", Columns: []table.Fitted{{Counts: []int{30, 70, 0, 0}}}}}
	require.Equal(t, []string{`c: column "s": 30 % of its texts no other file has, as ["ja"], and none is no as in all ` +
		`others: write them alike, or leave the column out`}, table.Apart(fits, shape), "the rest is written alike")
	fits[1].Columns[0].Counts = []int{0, 97, 3, 0}
	require.Empty(t, table.Apart(fits, shape), "no is rare elsewhere")
	fits[1].Columns[0].Counts, fits[2].Columns[0].Counts = []int{0, 60, 40, 0}, []int{4, 96, 0, 0}
	require.Empty(t, table.Apart(fits, shape), "ja is rare")
}
