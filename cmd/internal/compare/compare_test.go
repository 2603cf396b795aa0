package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/history"
)

// chain is a history of rounds, half of them in each of two epochs, each of which costs epsilon.
func chain(rounds int, cost float64, rule string) *history.Chain {
	p := apptest.Params(4, func(p *params.Params) { p.Rule.Name = rule })
	s := apptest.State(4, func(*params.Params) {})
	s.Params = p
	s.Epochs = []app.Epoch{{Epoch: 0, Params: p}}
	s.Progress.Epoch = 1
	c := &history.Chain{State: s, Audit: &audit.Report{ChainID: "c-" + rule, Rounds: uint64(rounds), Epochs: 2,
		Offences: []app.Offence{{Epoch: 0}}, BadLeaders: []audit.BadLeader{{Epoch: 1}, {Epoch: 1}}}}
	for i := range rounds {
		r := history.Round{At: float64(i + 1), Time: time.Unix(int64(100+2*i), 0), Took: 2, Tested: 50,
			Accuracy: float64(i+1) / float64(rounds), Loss: math.NaN(), Epsilon: cost * float64(i+1), DeltaNorm: 1,
			Reputations: []float64{1, 0.25}}
		r.Epoch, r.Round = uint64(2*i/rounds), uint64(i%(rounds/2))
		c.Rounds = append(c.Rounds, r)
	}
	return c
}

func run(t *testing.T, name string, c *history.Chain, epoch *uint64) Run {
	t.Helper()
	doc := &types.GenesisDoc{ChainID: c.Audit.ChainID, ConsensusParams: types.DefaultConsensusParams()}
	r, err := Of(name, c, doc, epoch)
	require.NoError(t, err)
	return r
}

// values returns the row of a name.
func values(t *testing.T, rows []Row, name string) []string {
	t.Helper()
	for _, r := range rows {
		if r.Name == name {
			return r.Values
		}
	}
	require.Fail(t, "no row", "%s in %v", name, rows)
	return nil
}

// TestCompare: what differs is listed and nothing else, and results stand at the end and at the
// largest epsilon that all runs reached.
func TestCompare(t *testing.T) {
	a, b := run(t, "a", chain(10, 0.1, "krum"), nil), run(t, "b", chain(8, 0.25, "median"), nil)
	c, err := New([]Run{a, b})
	require.NoError(t, err)
	var names []string
	for _, r := range c.Differ {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"chain id", "rule.name"}, names)
	require.Equal(t, []string{"krum", "median"}, values(t, c.Differ, "rule.name"))
	require.Equal(t, []string{"10", "8"}, values(t, c.Results, "rounds"))
	require.Equal(t, []string{"1.0000 of 50", "1.0000 of 50"}, values(t, c.Results, "test accuracy"))
	require.Equal(t, []string{"-", "-"}, values(t, c.Results, "test loss"))
	require.Equal(t, []string{"2.000", "2.000"}, values(t, c.Results, "seconds a round"))
	require.Equal(t, []string{"0.2500", "0.2500"}, values(t, c.Results, "lowest reputation"))
	require.Equal(t, []string{"1.0000 of 50", "0.5000 of 50"}, values(t, c.Results, "test accuracy at epsilon 1.000"))
	require.Equal(t, []string{"10", "4"}, values(t, c.Results, "round at epsilon 1.000"))
	require.Equal(t, []string{"1", "1"}, values(t, c.Results, "proven offences"))
}

// TestFaultsDiffer: attacks and perturbations of localnets are listed if they differ.
func TestFaultsDiffer(t *testing.T) {
	a, b := run(t, "a", chain(10, 0.1, "krum"), nil), run(t, "b", chain(10, 0.1, "median"), nil)
	b.Attacks, b.Perturbations = []string{"1=silent", "2=sign-flip"}, []string{"0=kill after round 3"}
	c, err := New([]Run{a, b})
	require.NoError(t, err)
	require.Equal(t, []string{"-", "1=silent, 2=sign-flip"}, values(t, c.Differ, "attacks"))
	require.Equal(t, []string{"-", "0=kill after round 3"}, values(t, c.Differ, "perturbations"))
	a.Attacks = b.Attacks
	c, err = New([]Run{a, b})
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(c.Differ, func(r Row) bool { return r.Name == "attacks" }))
}

// TestEpochs: two epochs of a chain are two runs, each from its own first round on.
func TestEpochs(t *testing.T) {
	zero, one, two := uint64(0), uint64(1), uint64(2)
	h := chain(10, 0.1, "krum")
	c, err := New([]Run{run(t, "n@0", h, &zero), run(t, "n@1", h, &one)})
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1"}, values(t, c.Differ, "epoch"))
	require.Equal(t, []string{"5", "5"}, values(t, c.Results, "rounds"))
	require.Equal(t, []string{"1", "0"}, values(t, c.Results, "proven offences"))
	require.Equal(t, []string{"0", "2"}, values(t, c.Results, "leaders passed over"))
	for _, r := range c.Runs {
		require.Equal(t, []float64{1, 0}, []float64{r.Points[0].Round, r.Points[0].Seconds})
	}
	doc := &types.GenesisDoc{ConsensusParams: types.DefaultConsensusParams()}
	_, err = Of("n@2", h, doc, &two)
	require.ErrorIs(t, err, history.ErrEmpty)
}

// TestNotCompared: one run, the same chain twice, and other models are rejected.
func TestNotCompared(t *testing.T) {
	a := run(t, "a", chain(4, 1, "krum"), nil)
	_, err := New([]Run{a})
	require.ErrorContains(t, err, "1 run")
	zero := uint64(0)
	_, err = New([]Run{a, run(t, "b", chain(4, 1, "krum"), &zero)})
	require.ErrorIs(t, err, ErrSame)
	other := chain(4, 1, "median")
	other.State.Params.Model.Inputs++
	_, err = New([]Run{a, run(t, "b", other, nil)})
	require.ErrorIs(t, err, ErrModels)
	require.ErrorContains(t, err, "model.inputs is 3 in a and 4 in b")
	b := run(t, "b", other, nil)
	b.Model = `{"kind":"external","inputs":3,"tensors":["` + strings.Repeat("x", 99) + `"],"u":1,"v":1}`
	_, err = New([]Run{a, b})
	require.EqualError(t, err, ErrModels.Error()+": model.kind is softmax in a and external in b")
	b.Model = strings.Replace(b.Model, "external", "softmax", 1)
	_, err = New([]Run{a, b})
	require.Regexp(t, `model.classes is 2 in a and - in b, .*, and \d more$`, err.Error())
	require.Less(t, len(err.Error()), 200)
}

// TestFiles: the page holds all points and needs no network, hostile names are text in it, and the
// CSV and the JSON read back as they were.
func TestFiles(t *testing.T) {
	const hostile = `</script><img src=x onerror=alert(1)>`
	c, err := New([]Run{run(t, hostile, chain(10, 0.1, "krum"), nil), run(t, "=b", chain(8, 0.25, "median"), nil)})
	require.NoError(t, err)
	var page, points, text strings.Builder
	require.NoError(t, c.Page(&page, "body {}", "spdl compare <a> b", "v0"))
	require.NotContains(t, page.String(), "<img")
	require.Equal(t, 1, strings.Count(page.String(), "</script>"))
	require.Contains(t, page.String(), "spdl compare &lt;a&gt; b")
	for _, outside := range []string{"https:", "src=\"", "href"} {
		require.NotContains(t, page.String(), outside)
	}
	require.NoError(t, c.CSV(&points))
	rows, err := csv.NewReader(strings.NewReader(points.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+10+8)
	require.Equal(t, []string{"'=b", "1", "0", "0.125", "", "0.25", "0.25", "2", "1", "0", "0"}, rows[11])
	require.NoError(t, c.Text(&text))
	require.Regexp(t, `(?m)^ +</script>.*=b +difference *$`, text.String())
	require.Regexp(t, `(?ms)^WHAT DIFFERS *$.*^  rule\.name +krum +median *$.*^RESULTS *$.*^  rounds +10 +8 +-2$`,
		text.String())
	for values, want := range map[[2]string]string{{"0.95 of 10000", "0.94 of 10000"}: "-0.01", {"4", "4"}: "",
		{"-", "3"}: "", {"47 values, ab", "47 values, cd"}: "", {"krum", "median"}: ""} {
		require.Equal(t, want, difference(values[:]))
	}
	saved, err := json.Marshal(c)
	require.NoError(t, err)
	var again Comparison
	require.NoError(t, json.Unmarshal(saved, &again))
	require.Equal(t, c, &again)
	require.NotContains(t, fmt.Sprint(again), "NaN")
}
