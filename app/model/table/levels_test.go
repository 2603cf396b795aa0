package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// TestSchema: categories, missing numbers and their indicator become levels by the table alone.
func TestSchema(t *testing.T) {
	shape := params.Table{Label: "y", Classes: []string{"0", "1"}, Columns: []params.Column{
		{Name: "a", Low: 0, High: 10, Missing: &params.Missing{Fill: 2, Indicator: true}},
		{Name: "b", Low: 0, High: 10, Missing: &params.Missing{Fill: 10}},
		{Name: "c", Values: []string{"x", "y"}, Others: true},
		{Name: "d", Values: []string{"p", "q"}},
	}}
	for row, want := range map[string][]uint8{
		"10,0,y,p": {255, 128, 0, 128, 255, 255, 128},
		",NA,z,q":  {51, 255, 255, 128, 128, 128, 255},
		"?,NaN,,q": {51, 255, 255, 128, 128, 128, 255},
		" , 0 ,,q": {51, 255, 0, 128, 128, 128, 255},
	} {
		path := file(t, "a,b,c,d,y\n"+row+",0\n0,0,x,p,1\n1,0,x,p,1\n2,0,x,p,1\n3,0,x,p,1\n4,0,x,p,1\n5,0,x,p,1\n6,0,x,p,1\n"+
			"7,0,x,p,1\n8,0,x,p,1\n9,0,x,p,1\n")
		units, err := table.Units(path, shape)
		require.NoError(t, err)
		require.Equal(t, 11, units)
		data, err := table.Load(path, shape)
		require.NoError(t, err)
		var found [][]uint8
		for _, set := range []mnist.Set{data.Train, data.Test} {
			for i, label := range set.Labels {
				if label == 0 {
					found = append(found, set.Image(i))
				}
			}
		}
		require.Equal(t, [][]uint8{want}, found, row)
	}
	for row, want := range map[string]string{
		"1,1,x,r,0\n":            `line 2, column "d": the value is none of the chain's: ["p" "q"]`,
		"1,1,x,,0\n":             `line 2, column "d": the value is none of the chain's`,
		"<5,1,x,p,0\n":           `line 2, column "a": no finite number`,
		"1,1,x,p,2\n":            `the label is none of the chain's classes`,
		"1,?,x,p,0\n1,x,x,r,0\n": `line 3, column "d": the value is none of the chain's: ["p" "q"]`,
	} {
		_, err := table.Units(file(t, "a,b,c,d,y\n"+row), shape)
		require.ErrorIs(t, err, table.ErrTable)
		require.ErrorContains(t, err, want)
	}
}

// TestCategoriesOfNumbers: a text that is no category is one as a number, and a column most of whose texts are none is
// a fault of the file.
func TestCategoriesOfNumbers(t *testing.T) {
	var others string
	for i := range 20 {
		others += fmt.Sprintf("%d,2,1\n", i)
	}
	for _, c := range []struct {
		values  [2]string
		text    string // of two rows in three, beside the second value
		unknown float64
	}{
		{[2]string{"2", "3"}, "3.0", 0},
		{[2]string{"2", "3.00"}, "3.0", 0},
		{[2]string{"3", "3.0"}, "3.0", 0},
		{[2]string{"2", "3"}, "yes", 2. / 3},
		{[2]string{"2", "3"}, "3.5", 2. / 3},
		{[2]string{"2", "three"}, "3.0", 2. / 3},
	} {
		shape := params.Table{Label: "y", Classes: []string{"0", "1"},
			Columns: []params.Column{{Name: "a", Values: c.values[:], Others: true}}}
		path := file(t, "a,y\n"+strings.Repeat(c.text+",0\n"+c.text+",1\n"+c.values[1]+",0\nNA,1\n", 10))
		fit, err := table.FitOf(path, shape)
		require.NoError(t, err)
		require.Equal(t, table.Fitted{Name: "a", Missing: 0.25, Unknown: c.unknown * 0.75, Unseen: c.values[:1],
			Counts: []int{0, 30 - int(30*c.unknown+0.5)}}, fit.Columns[0])
		data, err := table.Load(file(t, "id,a,y\n0,"+c.text+",0\n"+others), shape)
		require.NoError(t, err)
		var image []uint8
		for _, set := range []mnist.Set{data.Train, data.Test} {
			for i, label := range set.Labels {
				if label == 0 {
					image = set.Image(i)
				}
			}
		}
		if c.unknown > 0 {
			require.Equal(t, []uint8{params.TableNo, params.TableNo}, image, c.text)
			require.Len(t, fit.Faults, 1)
			require.Contains(t, fit.Faults[0], `column "a": 66.7 % of its texts are none of `)
			continue
		}
		require.Equal(t, []uint8{params.TableNo, params.TableYes}, image, c.text)
		require.Empty(t, fit.Faults)
	}
}
