// Command tables trains the recognised tables, by the real workers and the real state machine without
// a network, and prints one CSV line for each setting: means over the seeds with their standard
// deviations. docs/TABLES.md has the lines of a whole run.
//
// Usage: tables [-table NAME] [-epsilons 1,2,4] [-rows 0] [-seeds 3] [-first 1] [-attack NAME] [-rushing]
// FOLDER, with the files that fetch writes. A table that is none of them has its schema in FOLDER/schema.json.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

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
	"rotterdam", "churn", "nwtco", "colon", "stackoverflow"}

// strong are attacks on the presets' rule that hide in the noise (docs/RULES.md).
const strong = "hidden-ascent+own-noise"

type setting struct {
	table   string
	nodes   int
	epsilon float64
	attack  string
	rows    int // of the training set, the first ones; 0 for all
	rushing bool
	first   int // of the seeds
	seeds   int
}

func main() {
	var s setting
	only := flag.String("table", "", "names of tables with commas between them (default: all)")
	flag.IntVar(&s.seeds, "seeds", 3, "number of seeds")
	flag.IntVar(&s.first, "first", 1, "the first seed")
	epsilons := flag.String("epsilons", "1,2,4", "epsilons with commas between them")
	flag.IntVar(&s.rows, "rows", 0, "training rows, the first of the table (default: all)")
	flag.BoolVar(&s.rushing, "rushing", false, "the third sees the round's honest vectors: without commitments")
	flag.StringVar(&s.attack, "attack", strong, "attack of a third; none for lines without attack alone")
	flag.Parse()
	var budgets []float64
	err := json.Unmarshal([]byte("["+*epsilons+"]"), &budgets)
	if err == nil {
		err = s.run(flag.Arg(0), *only, budgets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// run prints the lines of all tables, or of some, with the rest of the setting.
func (s setting) run(folder, only string, epsilons []float64) error {
	all, sizes := names, []int{4, 10}
	if only != "" {
		all = strings.Split(only, ",")
	}
	var settings []setting
	for _, s.table = range all {
		for _, s.nodes = range sizes {
			for _, s.epsilon = range epsilons {
				clean := s
				clean.attack, clean.rushing = "", false
				if settings = append(settings, clean); s.attack != "none" {
					settings = append(settings, s)
				}
			}
		}
	}
	fmt.Println("table,unit,N,epsilon,attack,auc,auc_sd,accuracy,accuracy_sd,brier,brier_sd,ece,ece_sd,units,noise")
	type answer struct {
		line string
		err  error
	}
	answers, busy := make([]chan answer, len(settings)), make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	go func() {
		for i, s := range settings {
			busy <- struct{}{}
			go func() {
				line, err := s.line(folder)
				answers[i] <- answer{line, err}
				<-busy
			}()
		}
	}()
	for i, s := range settings { // in this order, each as soon as it is there
		a := <-answers[i]
		if a.err != nil {
			return fmt.Errorf("%+v: %w", s, a.err)
		}
		fmt.Println(a.line)
	}
	return nil
}

// load reads a table of a folder with its schema, and at most the first s.rows rows for training.
func (s setting) load(folder, file string) (t params.Table, data mnist.Data, err error) {
	text, err := schemas.ReadFile(strings.TrimSuffix(file, "-5") + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join(folder, "schema.json"))
	}
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
func (s setting) line(folder string) (string, error) {
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
		units = len(mnist.ByGroup(data.Train.Groups))
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
	for seed := s.first; seed < s.first+s.seeds; seed++ {
		spec := train.Spec{Params: p, Nodes: s.nodes, Seed: uint64(seed)}
		if spec.Attack = s.attack; s.attack != "" {
			spec.Byzantine = int(p.Rule.Byzantine)
		}
		out, err := train.Run(context.Background(), spec, data)
		if err != nil {
			return "", err
		}
		e, err := measured.Evaluate(out.Model)
		if err != nil {
			return "", err
		}
		q := e.Quality
		if q == nil { // of more than two classes
			q = &evaluate.Quality{AUC: math.NaN(), Accuracy: e.Accuracy, Brier: math.NaN(), ECE: math.NaN()}
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
		mean := sums[i] / float64(s.seeds)
		spread := math.Sqrt(max(0, squares[i]-float64(s.seeds)*mean*mean) / max(1, float64(s.seeds-1)))
		line += fmt.Sprintf(",%.4f,%.4f", mean, spread)
	}
	return fmt.Sprintf("%s,%d,%.2f", line, units, p.Privacy.NoiseMultiplier), nil
}
