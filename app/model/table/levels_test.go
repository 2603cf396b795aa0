package table_test

import (
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
