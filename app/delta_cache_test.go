package app

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

func TestTheRuleRunsOnceForAListOfGradients(t *testing.T) {
	var a resultCache
	runs := 0
	run := func(fails error) func() (rules.Output, error) {
		return func() (rules.Output, error) { runs++; return rules.Output{Margin: int64(runs)}, fails }
	}
	list := func(hash string) []tx.Included {
		return []tx.Included{{Participant: 1, Hash: []byte("x")}, {Participant: 2, Hash: []byte(hash)}}
	}
	_, err := a.get(list("y"), run(errors.New("away")))
	require.EqualError(t, err, "away")
	for _, c := range []struct {
		list []tx.Included
		want int64
	}{{list("y"), 2}, {list("y"), 2}, {list("z"), 3}, {list("z")[:1], 4}, {list("z"), 5}, {list("z"), 5}} {
		out, err := a.get(c.list, run(nil))
		require.NoError(t, err)
		require.Equal(t, c.want, out.Margin)
	}
}
