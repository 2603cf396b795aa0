// Command tables trains the recognised tables, by the real workers and the real state machine without
// a network, and prints one CSV line for each setting: means over the seeds with their standard
// deviations. docs/TABLES.md has the lines of a whole run.
//
// Usage: tables [-quick] [-table NAME] [-epsilons 1,2,4] [-rows 0] [-seeds 3] [-attack NAME] [-rushing] FOLDER,
// with the files that fetch writes. -quick trains on rows that it makes up, and needs no folder.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/strictjson"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

//go:embed *.json
var schemas embed.FS

// names lists the tables. A name that ends in -rows stands for the same rows without groups.
var names = []string{"breast-cancer", "pima", "credit", "flchain", "nafld-5", "nafld-5-rows", "nafld", "nafld-rows",
	"rotterdam", "churn"}

// strong are attacks on the presets' rule that hide in the noise (docs/RULES.md).
const strong = "hidden-ascent+own-noise"

type setting struct {
	table   string
	nodes   int
	epsilon float64
	attack  string
	rows    int // of the training set, the first ones; 0 for all
	rushing bool
}

func main() {
	quick := flag.Bool("quick", false, "a table of made-up rows, one seed")
	only := flag.String("table", "", "names of tables with commas between them (default: all)")
	seeds := flag.Int("seeds", 3, "seeds")
	epsilons := flag.String("epsilons", "1,2,4", "epsilons with commas between them")
	rows := flag.Int("rows", 0, "training rows, the first of the table (default: all)")
	rushing := flag.Bool("rushing", false, "the third sees the round's honest vectors: without commitments")
	attack := flag.String("attack", strong, "attack of a third; none for lines without attack alone")
	flag.Parse()
	budgets, err := numbers(*epsilons)
	if err == nil {
		err = run(flag.Arg(0), *only, *attack, budgets, *rows, *seeds, *quick, *rushing)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// numbers reads numbers with commas between them.
func numbers(text string) (all []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

func run(folder, only, attack string, epsilons []float64, rows, seeds int, quick, rushing bool) error {
	all, sizes := names, []int{4, 10}
	switch {
	case quick:
		dir, err := os.MkdirTemp("", "spdl-tables-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // the system cleans it otherwise
		if folder, err = dir, madeUp(filepath.Join(dir, "pima.csv")); err != nil {
			return err
		}
		all, epsilons, sizes, seeds = []string{"pima"}, []float64{2}, []int{4}, 1
	case only != "":
		all = strings.Split(only, ",")
	}
	var settings []setting
	for _, name := range all {
		for _, n := range sizes {
			for _, epsilon := range epsilons {
				settings = append(settings, setting{name, n, epsilon, "", rows, false})
				if attack != "none" {
					settings = append(settings, setting{name, n, epsilon, attack, rows, rushing})
				}
			}
		}
	}
	fmt.Println("table,unit,N,epsilon,attack,auc,auc_sd,accuracy,accuracy_sd,brier,brier_sd,ece,ece_sd,units,noise")
	lines, errs := make([]string, len(settings)), make([]error, len(settings))
	done := make([]chan struct{}, len(settings))
	var workers sync.WaitGroup
	next := make(chan int, len(settings))
	for i := range settings {
		done[i] = make(chan struct{})
		next <- i
	}
	close(next)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				lines[i], errs[i] = settings[i].line(folder, seeds)
				close(done[i])
			}
		})
	}
	defer workers.Wait()
	for i := range settings {
		<-done[i]
		if errs[i] != nil {
			return fmt.Errorf("%+v: %w", settings[i], errs[i])
		}
		fmt.Println(lines[i])
	}
	return nil
}

// load reads a table of a folder with its schema, and at most the first s.rows rows for training.
func (s setting) load(folder, file string) (t params.Table, data mnist.Data, err error) {
	text, err := schemas.ReadFile(strings.TrimSuffix(file, "-5") + ".json")
	if err != nil {
		return t, data, err
	}
	if err := strictjson.Decode(text, &t); err != nil {
		return t, data, err
	}
	if data, err = table.Load(filepath.Join(folder, file+".csv"), t); err != nil {
		return t, data, err
	}
	if s.rows > 0 && s.rows < data.Train.Len() {
		first := make([]int, s.rows)
		for i := range first {
			first[i] = i
		}
		data.Train = data.Train.Subset(first)
	}
	return t, data, nil
}

// line trains with each seed and returns the CSV line.
func (s setting) line(folder string, seeds int) (string, error) {
	file := strings.TrimSuffix(s.table, "-rows")
	t, data, err := s.load(folder, file)
	if err != nil {
		return "", err
	}
	units := data.Train.Len()
	switch {
	case file != s.table: // the division into training and test set stays that of the groups
		t.Group, data.Train.Groups, data.Test.Groups = "", nil, nil
	case t.Group != "":
		units = len(ids(data.Train.Groups))
	}
	p, err := preset.Make("default", s.nodes, preset.Own{Epsilon: s.epsilon,
		Data: &preset.Data{Examples: units, Table: &t, Classes: len(t.Classes)}})
	if err != nil {
		return "", err
	}
	p.Election.CommitReveal = p.Election.CommitReveal && !s.rushing
	measured, err := evaluate.New(data.Test, p.Model)
	if err != nil {
		return "", err
	}
	var sums, squares [4]float64
	for seed := range seeds {
		spec := train.Spec{Params: p, Nodes: s.nodes, Seed: uint64(seed) + 1}
		if spec.Attack = s.attack; s.attack != "" {
			spec.Byzantine = int(p.Rule.Byzantine)
		}
		out, err := train.Run(context.Background(), spec, data)
		if err != nil {
			return "", err
		}
		q, err := measured.Quality(out.Model)
		if err != nil {
			return "", err
		}
		for i, v := range []float64{q.AUC, q.Accuracy, q.Brier, q.ECE} {
			sums[i], squares[i] = sums[i]+v, squares[i]+v*v
		}
	}
	unit := "example"
	if t.Group != "" {
		unit = params.UnitGroup
	}
	name := s.attack
	if s.rushing {
		name += " rushing"
	}
	line := fmt.Sprintf("%s,%s,%d,%g,%s", file, unit, s.nodes, s.epsilon, name)
	for i := range sums {
		mean := sums[i] / float64(seeds)
		spread := math.Sqrt(max(0, squares[i]-float64(seeds)*mean*mean) / max(1, float64(seeds-1)))
		line += fmt.Sprintf(",%.4f,%.4f", mean, spread)
	}
	return fmt.Sprintf("%s,%d,%.2f", line, units, p.Privacy.NoiseMultiplier), nil
}

func ids(groups []uint32) map[uint32]bool {
	out := map[uint32]bool{}
	for _, g := range groups {
		out[g] = true
	}
	return out
}

// madeUp writes a table in the form of pima whose labels depend on two of its columns.
func madeUp(path string) error {
	rng := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	text.WriteString("pregnant,glucose,pressure,triceps,insulin,mass,pedigree,age,diabetes\n")
	for range 2000 {
		glucose, mass, label := 60+130*rng.Float64(), 18+30*rng.Float64(), "neg"
		if glucose+2*mass+20*rng.NormFloat64() > 195 {
			label = "pos"
		}
		fmt.Fprintf(&text, "%d,%.0f,%d,,%d,%.1f,%.2f,%d,%s\n", rng.IntN(9), glucose, 50+rng.IntN(50), rng.IntN(300), mass,
			rng.Float64(), 21+rng.IntN(50), label)
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}
