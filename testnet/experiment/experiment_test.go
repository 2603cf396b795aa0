package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// small is MNIST's first 2,500 and 200.
func small() (mnist.Data, error) {
	data, err := mnist.Embedded()
	if err != nil {
		return data, err
	}
	cut := func(s mnist.Set, n int) mnist.Set {
		index := make([]int, n)
		for i := range index {
			index[i] = i
		}
		return s.Subset(index)
	}
	return mnist.Data{Train: cut(data.Train, 2500), Test: cut(data.Test, 200)}, nil
}

// tiny is an experiment of two panels, one of which holds two series.
var tiny = Experiment{
	Name: "tiny", Title: "tiny & <small>", Paper: "says nothing",
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, name := range []string{train.Pure, train.SPDL} {
			s, err := o.paper(name, 4)
			if err != nil {
				return nil, err
			}
			s.Params.Training.Rounds, s.Every = 2, 1
			cells = append(cells, Cell{Panel: "N=4", Series: name, Learn: &s})
		}
		return append(cells, Cell{Panel: "again", Series: train.Pure, Learn: cells[0].Learn}), nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		return figure.Figure{Title: "tiny", Panels: r.curves("test_error", "test error", 1)}, r.table("N", "test_error")
	},
}

func runner(dir string, log *bytes.Buffer) Runner {
	return Runner{Options: Options{Seeds: 2, Quick: true}, Dir: dir, Command: "spdl-lab experiment tiny",
		Version: "v0", Data: small, Log: log}
}

// TestRun: the files are there, hold their provenance, and a second run computes
// nothing and writes the same bytes.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	require.NoError(t, runner(dir, &log).Run(context.Background(), tiny))
	require.Contains(t, log.String(), "6 cells, each a training or a net, 2 of them shared or finished before")
	require.Contains(t, log.String(), "4/4")
	require.Contains(t, log.String(), "  tiny: N=4, PURE, seed 2: ")
	first := map[string][]byte{}
	for _, ext := range []string{"csv", "svg", "json"} {
		raw, err := os.ReadFile(filepath.Join(dir, "tiny."+ext))
		require.NoError(t, err)
		for _, part := range []string{"spdl-lab experiment tiny", "v0", "QUICK RUN", "1 to 2"} {
			require.Contains(t, string(raw), part, ext)
		}
		first[ext] = raw
		if ext == "json" {
			require.Regexp(t, `"\d\.\d{3} \(\d\.\d{3} to \d\.\d{3}\)"`, string(raw), "mean and range")
		}
		if ext == "svg" {
			require.Contains(t, string(raw), ">quick run: fewer rounds and cells, not for citing</text>")
			require.Contains(t, string(raw), ">tiny, 2 rounds</text>")
			require.Contains(t, string(raw), ">band: least to greatest of the seeds</text>")
		}
	}
	log.Reset()
	require.NoError(t, runner(dir, &log).Run(context.Background(), tiny))
	require.Contains(t, log.String(), "6 cells, each a training or a net, 6 of them")
	for ext, want := range first {
		raw, err := os.ReadFile(filepath.Join(dir, "tiny."+ext))
		require.NoError(t, err)
		require.Equal(t, want, raw, ext)
	}
	// Another version computes again; a damaged cell too.
	r := runner(dir, &log)
	cells, err := filepath.Glob(filepath.Join(dir, "cells", "*.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cells[0], []byte("{"), 0o644))
	log.Reset()
	require.NoError(t, r.Run(context.Background(), tiny))
	require.Contains(t, log.String(), "1/1")
	r.Version = "v1"
	log.Reset()
	require.NoError(t, r.Run(context.Background(), tiny))
	require.Contains(t, log.String(), "4/4")
}

// TestDamaged: a cell's file that is not as it was written is computed again,
// whatever became of it, and the figure is that of an undamaged folder.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	r := runner(dir, &log)
	require.NoError(t, r.Run(context.Background(), tiny))
	want, err := os.ReadFile(filepath.Join(dir, "tiny.csv"))
	require.NoError(t, err)
	cells, err := filepath.Glob(filepath.Join(dir, "cells", "*.json"))
	require.NoError(t, err)
	sound, err := os.ReadFile(cells[0])
	require.NoError(t, err)
	var other Result
	require.NoError(t, json.Unmarshal(sound, &other))
	other.Rows[0][1] = 0.5
	edited, err := json.Marshal(other)
	require.NoError(t, err)
	neighbour, err := os.ReadFile(cells[1])
	require.NoError(t, err)
	for name, raw := range map[string][]byte{
		"empty": nil, "cut": sound[:len(sound)/2], "too few columns": []byte(`{"rows":[[1]]}`),
		"no columns": []byte(`{"rows":[null]}`),
		"edited":     edited, "unknown": []byte(`{"rows":[[1,2,3,4,5,6,7,8]]}`), "null": []byte("null"),
		"another's": neighbour,
	} {
		require.NoError(t, os.WriteFile(cells[0], raw, 0o644))
		log.Reset()
		require.NoError(t, r.Run(context.Background(), tiny), name)
		require.Contains(t, log.String(), "1/1", name)
		got, err := os.ReadFile(filepath.Join(dir, "tiny.csv"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
}

// TestNetFails: a net that fails costs its own figure, and those after it run.
func TestNetFails(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	timed := func(name string, nodes int) Experiment {
		e := latency
		e.Name = name
		e.cells = func(Options) ([]Cell, error) {
			return []Cell{{Panel: name, Series: "real nodes", Latency: &Latency{Nodes: nodes, Rounds: 2}}}, nil
		}
		return e
	}
	dir := t.TempDir()
	var log bytes.Buffer
	r := runner(dir, &log)
	r.Seeds = 1
	err := r.Run(t.Context(), timed("broken", -1), timed("sound", 4))
	require.ErrorContains(t, err, "broken, real nodes")
	require.NotContains(t, err.Error(), "sound, real nodes")
	require.FileExists(t, filepath.Join(dir, "sound.csv"), "%v\n%s", err, log.String())
	require.NoFileExists(t, filepath.Join(dir, "broken.csv"))
}

// TestFailure: what fails is named, and finished cells stay.
func TestFailure(t *testing.T) {
	var log bytes.Buffer
	r := runner(t.TempDir(), &log)
	r.Data = func() (mnist.Data, error) { return mnist.Data{}, errors.New("no data") }
	err := r.Run(context.Background(), tiny)
	require.ErrorContains(t, err, "N=4, ")
	require.ErrorContains(t, err, "no data")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, runner(t.TempDir(), &log).Run(ctx, tiny), "interrupted; finished cells, 0 of this run")
	r.Seeds = 0
	require.ErrorContains(t, r.Run(context.Background(), tiny), "0 seeds")
	_, err = Report(t.TempDir())
	require.ErrorContains(t, err, "spdl-lab experiment")
}

// TestCells: every experiment has cells that validate, quick ones are fewer or
// shorter, and its names are unique.
func TestCells(t *testing.T) {
	for i, e := range All() {
		require.NotContains(t, Names()[:i], e.Name, "two experiments have one name")
		_, err := Lookup(e.Name)
		require.NoError(t, err)
		cost := map[bool]uint64{}
		for _, quick := range []bool{false, true} {
			cells, err := e.cells(Options{Seeds: 1, Quick: quick})
			require.NoError(t, err)
			require.NotEmpty(t, cells)
			seen := map[string]bool{}
			for _, c := range cells {
				label := e.label(c, 1)
				require.False(t, seen[label], "two cells are %s: another Panel or Series, or in a sweep X, must tell them apart",
					label)
				seen[label] = true
				require.True(t, (c.Learn == nil) != (c.Latency == nil), "%s: one of Learn and Latency", label)
				if c.Latency != nil {
					cost[quick] += c.Latency.Rounds
					continue
				}
				_, err := c.Learn.Params.Validate(c.Learn.Nodes)
				require.NoError(t, err, label)
				cost[quick] += c.Learn.Params.Training.Rounds
			}
		}
		require.Less(t, cost[true], cost[false], "%s: a quick run has fewer cells or rounds", e.Name)
	}
	_, err := Lookup("explode")
	require.ErrorContains(t, err, "convergence")
	_, err = attacks.cells(Options{Rules: []string{"explode"}})
	require.ErrorContains(t, err, "explode")
	require.ErrorContains(t, attacks.Check(Options{Rules: []string{"bulyan"}}), "bulyan", "20 are too few for it")
	one := 1
	require.ErrorContains(t, attacks.Check(Options{Nodes: []int{20, 3}}), "with N = 3 the chain tolerates f = 0 "+
		"attackers, so nobody would attack: want N >= 4")
	require.NoError(t, attacks.Check(Options{Nodes: []int{3}, Rules: []string{"mean"}, Byzantine: &one}))
	require.NoError(t, attacks.Check(Options{Rules: everything, Attacks: everything}))
}

// TestDraw draws every figure from invented results.
func TestDraw(t *testing.T) {
	for _, e := range All() {
		cells, err := e.cells(Options{Seeds: 2, Quick: true})
		require.NoError(t, err)
		var results Results
		for i, c := range cells {
			for seed := range uint64(2) {
				x := Result{Cell: c, Seed: seed + 1, Columns: c.columns()}
				for round := range 4 {
					line := row{float64(round + 1)}
					for range len(x.Columns) - 1 {
						line = append(line, 1/float64(round+1)+float64(seed)/10+float64(i)/100)
					}
					x.Rows = append(x.Rows, line)
				}
				results = append(results, x)
			}
		}
		f, table := e.draw(results)
		require.NotEmpty(t, table.Rows, e.Name)
		for _, line := range table.Rows {
			require.Len(t, line, len(table.Head), e.Name)
		}
		at := slices.Index(table.Head, attackersColumn)
		require.Equal(t, results.attacked(), at > 0, e.Name)
		require.Equal(t, at > 0, slices.ContainsFunc(table.Rows, func(line []string) bool {
			return at > 0 && slices.Contains([]string{"1 of 4", "3 of 10", "6 of 20"}, line[at])
		}), "%s: %v", e.Name, table.Rows)
		_, err = f.Draw(nil)
		require.NoError(t, err, e.Name)
	}
}

// TestLiveComesLast: what only repeats a training comes after all else, and --no-live leaves it
// out.
func TestLiveComesLast(t *testing.T) {
	var log bytes.Buffer
	r := runner(t.TempDir(), &log)
	r.Quick = false
	todo, err := r.plan([]Experiment{convergence, latency, batch})
	require.NoError(t, err)
	require.NotEmpty(t, todo.together)
	first := slices.IndexFunc(todo.alone, func(j job) bool { return j.cell.Real != nil })
	require.Positive(t, first)
	for i, j := range todo.alone {
		require.Equal(t, i >= first, j.cell.Real != nil, "cell %d, the first that repeats is %d", i, first)
		require.Equal(t, i < first, j.cell.Latency != nil, "cell %d", i)
	}
	r.NoLive = true
	todo, err = r.plan([]Experiment{convergence, latency, batch})
	require.NoError(t, err)
	require.Len(t, todo.alone, first)
	require.Contains(t, r.notes(tiny, true), figure.Note{Name: "kind", Text: "full run, not repeated on real nodes"})
}

// TestSweep: the axis shows the numbers whose logarithms it is of, on one scale,
// and the files say what their x is.
func TestSweep(t *testing.T) {
	var results Results
	for i, x := range []float64{-1, 2} {
		results = append(results, Result{Cell: Cell{Panel: "p", Series: "s", X: x}, Columns: []string{"round", "test_error"},
			Rows: []row{{1, .33 - .1*float64(i)}}})
	}
	f, _ := tradeoff.draw(results)
	require.Equal(t, "epsilon", f.Panels[0].X)
	require.Equal(t, []figure.Mark{{At: -1, Text: "0.5"}, {At: 2, Text: "4"}}, f.Panels[0].Marks)
	require.InDelta(t, 0.4, f.Panels[0].Top, 1e-12)
	for _, e := range []Experiment{tradeoff, dirichlet} {
		require.Contains(t, Runner{}.notes(e, false), figure.Note{Name: "x", Text: e.X})
	}
}

// TestRanges: a cell of a table has the mean over the seeds and, of more than one, the least and the greatest value.
func TestRanges(t *testing.T) {
	var results Results
	for seed, last := range []float64{0.1, 0.4, 0.25} {
		for x := range 2 {
			results = append(results, Result{Seed: uint64(seed), Cell: Cell{Panel: "p", Series: "s", X: float64(x)},
				Columns: []string{"round", "test_error"}, Rows: []row{{1, 0.9}, {2, last + float64(x)/2}}})
		}
	}
	one := func(x Result) bool { return x.Cell.X > 0 }
	whole := slices.DeleteFunc(slices.Clone(results), one)
	require.Equal(t, [][]string{{"p", "0.250 (0.100 to 0.400)"}}, whole.table("", "test_error").Rows)
	require.Equal(t, [][]string{{"p", "0.100"}}, whole[:1].table("", "test_error").Rows)
	_, table := results.sweep(axis{"x", func(x float64) string { return fmt.Sprint(x) }})
	require.Equal(t, [][]string{{"p, 0", "0.250 (0.100 to 0.400)"}, {"p, 1", "0.750 (0.600 to 0.900)"}}, table.Rows)
	whole[2].Rows[1][1] = math.NaN()
	require.Equal(t, "0.250 (0.100 to 0.400)", whole.cell("test_error"), "a seed without the number counts nowhere")
	require.Equal(t, "-", whole[2:].cell("test_error"))
}

// TestReputationColours: the honest and the attackers of one attack have one
// colour, and each attack its own.
func TestReputationColours(t *testing.T) {
	cells, err := reputation.cells(Options{})
	require.NoError(t, err)
	var results Results
	for _, c := range cells {
		results = append(results, Result{Cell: c, Columns: c.columns(), Rows: []row{{1, 0, 0, 0, 1, 1, 0, 0},
			{2, 0, 0, 0, 1, 1, 0, 0}}})
	}
	f, _ := reputation.draw(results)
	lines := f.Panels[0].Lines
	require.Equal(t, lines[0].Colour, lines[1].Colour)
	require.NotEqual(t, lines[0].Colour, lines[2].Colour)
	require.NotEqual(t, lines[0].Dashed, lines[1].Dashed)
}

// TestGrid: a cell is the worst seed, clean accuracy the mean, and what the chain
// refused is counted, over the seeds.
func TestGrid(t *testing.T) {
	cells, err := attacks.cells(Options{Rules: []string{"krum"}, Attacks: []string{"zero", "alie"}})
	require.NoError(t, err)
	var results Results
	for i, c := range cells[:3] {
		for seed := range 2 {
			results = append(results, Result{Cell: c, Columns: train.Columns,
				Rows: []row{{100, 0.1*float64(i+1) + 0.02*float64(seed), 0, 0, 1, 1, 0, float64(i), 0.1 * float64(i), 0.5}}})
		}
	}
	_, table := attacks.draw(results)
	require.Equal(t, [][]string{{
		"epsilon 4", "6 of 20", "krum", "0.8900 (0.8800 to 0.9000)",
		"0.6800 (mean 0.6900, best 0.7000)", "alie", "0.7800 (mean 0.7900, best 0.8000), zero", "0.500",
		"0.200", "1.000", "1.000", "6", "",
	}}, table.Rows)
	_, table = attacks.draw(Results{results[0], results[2]})
	require.Equal(t, []string{"0.9000", "0.8000", "zero", "-"}, table.Rows[0][3:7], "one seed has no range")
	dir := t.TempDir()
	require.NoError(t, Runner{Options: Options{Seeds: 2, First: 1}, Dir: dir}.files(attacks, results, nil))
	s, err := attacks.Summary(dir)
	require.NoError(t, err)
	require.Equal(t, attacks.Title+": epsilon 4; up to 6 of 20 attack; "+results.rounds(), s.Title)
	under := results[2:]
	require.Contains(t, under.outside("bucketing+krum"), "N = 20 in N' = 10 buckets")
	seven := *under[0].Cell.Learn
	seven.Byzantine = 7
	under[0].Cell.Learn = &seven
	require.Equal(t, "7 attackers, more than f = 6", under.outside("krum"))
}

// TestDocumentedGrid: docs/REPRODUCTION.md counts the rules, the attacks and the trainings of the full grid.
func TestDocumentedGrid(t *testing.T) {
	page, err := os.ReadFile("../../docs/REPRODUCTION.md")
	require.NoError(t, err)
	cells, err := attacks.cells(Options{})
	require.NoError(t, err)
	undisturbed := 0
	for _, c := range cells {
		if c.Learn.Byzantine == 0 {
			undisturbed++
		}
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, count := range []string{
		fmt.Sprintf("%d rules under %d attacks, N=%d, f=%d,", len(rulesFor(Options{})), len(attacksFor(Options{})),
			gridNodes, params.MaxByzantine(gridNodes)),
		fmt.Sprintf("Of the %d,%03d trainings of one seed %d have no attackers", len(cells)/1000, len(cells)%1000,
			undisturbed),
	} {
		assert.True(t, strings.Contains(text, count), "docs/REPRODUCTION.md, section 6, does not say %q", count)
	}
}

// TestGridOfSettings: each setting is a panel, with the attackers and rounds that are asked for and
// the noise of its budget.
func TestGridOfSettings(t *testing.T) {
	two := 2
	o := Options{
		Rules: []string{"preset"}, Attacks: []string{"hidden-margin"}, Nodes: []int{4, 10}, Epsilons: []float64{1, 2},
		Alphas: []float64{0, 0.5}, Byzantine: &two, Rounds: 7,
	}
	cells, err := attacks.cells(o)
	require.NoError(t, err)
	require.Len(t, cells, 2*2*2*2)
	last := cells[15]
	require.Equal(t, "N=10, epsilon 2, Dirichlet 0.5", last.Panel)
	require.Equal(t, 0.5, last.Learn.Alpha)
	require.Equal(t, 2, last.Learn.Byzantine)
	require.Equal(t, "aware+hidden-margin", last.Learn.Attack)
	require.True(t, last.Rerun, "the preset under an attack that is named is repeated on real nodes")
	require.Equal(t, uint64(7), last.Learn.Params.Training.Rounds)
	require.Equal(t, 2.0, last.Learn.Params.Privacy.Epsilon)
	require.NotEqual(t, cells[0].Learn.Params.Privacy.NoiseMultiplier, last.Learn.Params.Privacy.NoiseMultiplier)
	half := 0.5
	o.Momentum, o.Rushing = &half, true
	cells, err = attacks.cells(o)
	require.NoError(t, err)
	require.Equal(t, "N=4, epsilon 1, worker momentum 0.5, rushing", cells[0].Panel)
	four := 4
	o.Byzantine = &four
	_, err = attacks.cells(o)
	require.ErrorContains(t, err, "4 attackers of 4")
	var steps []float64
	for _, momentum := range []float64{0, 0.5, 1} {
		o.Momentum = &momentum
		s, err := o.gridSpec("mean", 4, 2)
		require.NoError(t, err)
		require.Equal(t, momentum, s.Params.Privacy.WorkerMomentum)
		require.Equal(t, momentum == 1, s.Params.Grid.Width == uint32(gradients.Int16), momentum)
		steps = append(steps, s.Params.Grid.Step)
	}
	require.InEpsilon(t, math.Sqrt(1.0/3), steps[1]/steps[0], 1e-9, "the grid follows the noise of a mean of gradients")
	require.Equal(t, steps[0], steps[2], "a sum's grid follows the noise of its first gradient")
}

// TestValidationRun: it trains and measures on other examples than a run does, from another cell.
func TestValidationRun(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	r := runner(dir, &log)
	require.NoError(t, r.Run(context.Background(), tiny))
	tested, err := tiny.Summary(dir)
	require.NoError(t, err)
	r.Validation, r.First = true, 2
	log.Reset()
	require.NoError(t, r.Run(context.Background(), tiny))
	require.Contains(t, log.String(), "6 cells, each a training or a net, 2 of them shared", "none of the run before")
	held, err := tiny.Summary(dir)
	require.NoError(t, err)
	require.NotEqual(t, tested.Table, held.Table)
	require.Contains(t, held.Notes[4].Text, "that nobody trains on")
	require.Contains(t, held.Notes[2].Text, "2 to 3")
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	all = append(all, tiny)
	defer func() { all = all[:len(all)-1] }()
	require.NoError(t, runner(dir, &log).Run(context.Background(), tiny))
	page, err := Report(dir)
	require.NoError(t, err)
	require.Contains(t, string(page), "tiny &amp; &lt;small&gt;")
	require.Contains(t, string(page), "<code>spdl-lab experiment tiny</code> · seed: 1 to 2")
	require.Contains(t, string(page), "--width: 906px", "two panels of 340 points")
	require.Contains(t, string(page), "data:image/svg&#43;xml;base64,")
	for _, without := range []string{"http://", "https://", "<script", "white-space: nowrap"} {
		require.NotContains(t, string(page), without, "nothing from outside, and no column is cut off where it has room")
	}
}

// TestReportOfWhat: what is no folder of figures is refused with what it is.
func TestReportOfWhat(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "regret.json")
	for content, want := range map[string]string{
		"{bad": file + ": invalid character", "{}": `of the experiment ""`, `{"name":"batch"}`: `of the experiment "batch"`,
		`{"name":"regret"}`: "regret.svg is no drawing",
	} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "regret.svg"), []byte("garbage"), 0o644))
		_, err := Report(dir)
		require.ErrorContains(t, err, want)
	}
	_, err := Report(file)
	require.ErrorContains(t, err, "is no folder")
	_, err = Report(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCompare: a re-run is no part of the figure, and one that ended elsewhere is
// an error that names both models.
func TestCompare(t *testing.T) {
	cells := Options{}.withReruns([]Cell{{Panel: "p", Series: "s", Rerun: true, Learn: &train.Spec{Nodes: 20}},
		{Panel: "p", Series: "other", Learn: &train.Spec{}}})
	require.Len(t, cells, 3)
	require.Len(t, Options{Quick: true}.withReruns(cells[:1]), 1, "too many nodes for a quick run")
	results := Results{
		{Cell: cells[0], Seed: 1, Model: "aa"}, {Cell: cells[0], Seed: 2, Model: "bb"},
		{Cell: cells[1], Seed: 1, Model: "aa", Rows: make([]row, 7)}, {Cell: cells[2], Seed: 1, Model: "cc"},
	}
	drawn, reruns, err := results.compare()
	require.NoError(t, err)
	require.Equal(t, []Rerun{{"p", "s", 20, 7, "aa"}}, reruns)
	require.Len(t, drawn, 3)
	results[2].Model = "dd"
	_, _, err = results.compare()
	require.ErrorContains(t, err, "p, s on real nodes ended in model dd, and the simulation in aa")
}

// TestAWideGridTakesOneSeedBesideOthers: and as many as were asked for alone.
func TestAWideGridTakesOneSeedBesideOthers(t *testing.T) {
	for many, seeds := range map[bool]uint64{true: 1, false: 3} {
		r := Runner{Options: Options{Seeds: 3, Quick: true}, many: many, Data: small}
		for e, want := range map[*Experiment]uint64{&attacks: seeds, &tradeoff: 3} {
			jobs, err := r.jobsOf(*e)
			require.NoError(t, err)
			var most uint64
			for _, j := range jobs {
				most = max(most, j.seed)
			}
			require.Equal(t, want, most, e.Name)
		}
	}
}
