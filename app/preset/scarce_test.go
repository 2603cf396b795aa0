package preset_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// wide returns a table of 30 columns of numbers and two classes, as breast-cancer of docs/TABLES.md.
func wide(group string) *params.Table {
	t := &params.Table{Label: "y", Group: group, Classes: []string{"0", "1"}}
	for i := range 30 {
		t.Columns = append(t.Columns, params.Column{Name: fmt.Sprintf("c%d", i), High: 1})
	}
	return t
}

// cures finds the two remedies in an error of CheckTable.
var cures = regexp.MustCompile(`: (\d+) (examples|groups) each are the least that train, or epsilon ([0-9.]+) with ` +
	`these; --force`)

// TestCheckTable: the settings of docs/TABLES.md with which attackers, a third of the participants,
// ruined the model are rejected, and the settings with which the model kept its rank are accepted.
// CheckTable accepts either remedy that the error names, and rejects less than that.
func TestCheckTable(t *testing.T) {
	for _, c := range []struct {
		n, rows int
		epsilon float64
		group   string
		scarce  bool
	}{
		{10, 45, 0.5, "", true}, {10, 45, 1, "", false}, {10, 45, 4, "", false},
		{4, 112, 0.5, "", false}, {4, 112, 0.25, "", true}, {4, 50, 0.5, "", true}, {4, 50, 1, "", false},
		{10, 30, 1, "id", true}, {10, 20, 2, "", true}, {3, 20, 1, "", true}, {3, 50, 1, "", false}, {1, 200, 1, "", false},
	} {
		check := func(rows int, epsilon float64) error {
			p, err := preset.Make("default", c.n, preset.Own{Epsilon: epsilon, Examples: rows,
				Data: &preset.Data{Classes: 2, Table: wide(c.group)}})
			require.NoError(t, err)
			return preset.CheckTable(p, c.n, rows)
		}
		err, units := check(c.rows, c.epsilon), "examples"
		if c.group != "" {
			units = "groups"
		}
		if !c.scarce {
			require.NoError(t, err, "%+v", c)
			continue
		}
		require.ErrorIs(t, err, preset.ErrScarce, "%+v", c)
		require.ErrorContains(t, err, fmt.Sprintf("with %d %s of each", c.rows, units), "%+v", c)
		found := cures.FindStringSubmatch(err.Error())
		require.NotNil(t, found, err)
		require.Equal(t, c.group != "", found[2] == "groups")
		rows, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		epsilon, err := strconv.ParseFloat(found[3], 64)
		require.NoError(t, err)
		require.NoError(t, check(rows, c.epsilon), "%+v", c)
		require.NoError(t, check(c.rows, epsilon), "%+v", c)
		require.Error(t, check(rows*9/10, c.epsilon), "%+v", c)
		require.Error(t, check(c.rows, epsilon*0.9), "%+v", c)
	}
	// Without noise, and on other data, there is nothing to check.
	p, err := preset.Make("paper", 4, preset.Own{Examples: 5, Data: &preset.Data{Classes: 2, Table: wide("")}})
	require.NoError(t, err)
	require.NoError(t, preset.CheckTable(p, 4, 0))
	p, err = preset.Make("default", 4, preset.Own{Examples: 5, Data: images(20, 28, 10)})
	require.NoError(t, err)
	require.NoError(t, preset.CheckTable(p, 4, 0))
}
