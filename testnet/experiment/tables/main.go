// Command tables trains the recognised tables, by the real workers and the real state machine without
// a network, and prints a CSV line for each setting, with -own one for each of three models: means over the seeds with
// their standard deviations, in the order of the settings. docs/TABLES.md has the lines of a whole run.
//
// Usage: tables [-table NAME] [-epsilons 1,2,4] [-rows 0] [-seeds 3] [-first 1] [-attack NAME] [-rushing] [-own]
// FOLDER, with the files that fetch writes. A table that is none of them has its schema in FOLDER/schema.json.
package main

import (
	"cmp"
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
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
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
	own     bool // a line more for each model that honest members have at home
}

func main() {
	var s setting
	only := flag.String("table", strings.Join(names, ","), "names of tables with commas between them")
	flag.IntVar(&s.seeds, "seeds", 3, "number of seeds")
	flag.IntVar(&s.first, "first", 1, "the first seed")
	epsilons := flag.String("epsilons", "1,2,4", "epsilons with commas between them")
	flag.IntVar(&s.rows, "rows", 0, "training rows, the first of the table (default: all)")
	flag.BoolVar(&s.rushing, "rushing", false, "the third sees the round's honest vectors: without commitments")
	flag.BoolVar(&s.own, "own", false, "also what honest members have alone, and after their own step, on average")
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
	var settings []setting
	for _, s.table = range strings.Split(only, ",") {
		for _, s.nodes = range []int{4, 10} {
			for _, s.epsilon = range epsilons {
				clean := s
				clean.attack, clean.rushing = "", false
				if settings = append(settings, clean); s.attack != "none" {
					settings = append(settings, s)
				}
			}
		}
	}
	fmt.Println("table,unit,N,epsilon,attack,auc,auc_sd,accuracy,accuracy_sd,brier,brier_sd,ece,ece_sd,units,noise,model")
	const work = 1 << 20 // of a training: it justifies a core
	errs, lines := make([]error, len(settings)), make([]chan string, len(settings))
	for i := range lines {
		lines[i] = make(chan string, 1)
	}
	go gradients.InParallel(len(settings), work, func(i int) {
		text, err := settings[i].lines(folder)
		if err != nil {
			errs[i] = fmt.Errorf("%+v: %w", settings[i], err)
		}
		lines[i] <- text
	})
	for _, text := range lines {
		fmt.Print(<-text)
	}
	return errors.Join(errs...)
}

// load reads a table of a folder with its schema, and at most the first s.rows rows for training.
func (s setting) load(folder, file string) (t params.Table, data mnist.Data, err error) {
	text, err := schemas.ReadFile(strings.TrimSuffix(file, "-5") + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join(folder, "schema.json"))
	}
	if err == nil {
		err = strictjson.Decode(text, &t)
	}
	if err == nil {
		data, err = table.Load(filepath.Join(folder, file+".csv"), t)
	}
	if s.rows > 0 && s.rows < data.Train.Len() {
		data.Train = data.Train.Subset(slices.Concat(mnist.Units(nil, s.rows)...))
	}
	return t, data, err
}

// lines trains with each seed and returns the CSV lines, one for each model.
func (s setting) lines(folder string) (out string, err error) {
	file := strings.TrimSuffix(s.table, "-rows")
	t, data, err := s.load(folder, file)
	if err != nil {
		return "", err
	}
	if file != s.table { // the division into training and test set stays that of the groups
		t.Group, data.Train.Groups, data.Test.Groups = "", nil, nil
	}
	units := len(mnist.Units(data.Train.Groups, data.Train.Len()))
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
	name := s.attack
	if s.rushing {
		name += " rushing"
	}
	var seen [3][4][]float64 // by model and measure, of each seed
	for seed := s.first; seed < s.first+s.seeds; seed++ {
		models, err := s.models(p, uint64(seed), data)
		if err != nil {
			return "", err
		}
		for i, all := range models {
			mean, err := means(measured, all)
			if err != nil {
				return "", err
			}
			for j, v := range mean {
				seen[i][j] = append(seen[i][j], v)
			}
		}
	}
	for i, model := range []string{"common", adapt.Alone, "own step"} {
		if seen[i][0] == nil { // without -own
			break
		}
		out += fmt.Sprintf("%s,%s,%d,%g,%s", file, cmp.Or(p.Privacy.Unit, "example"), s.nodes, s.epsilon, name)
		for _, values := range seen[i] {
			mean, spread := stat.MeanStdDev(values, nil)
			out += fmt.Sprintf(",%.4f,%.4f", mean, spread)
		}
		out += fmt.Sprintf(",%d,%.2f,%s\n", units, p.Privacy.NoiseMultiplier, model)
	}
	return out, nil
}

// models trains with a seed. It returns the common model and, with -own, those of the honest members alone and after
// their own step.
func (s setting) models(p params.Params, seed uint64, data mnist.Data) ([][][]float64, error) {
	spec := train.Spec{Params: p, Nodes: s.nodes, Seed: seed}
	if spec.Attack = s.attack; s.attack != "" {
		spec.Byzantine = int(p.Rule.Byzantine)
	}
	trained, err := train.Run(context.Background(), spec, data)
	if err != nil || !s.own {
		return [][][]float64{{trained.Model}}, err
	}
	whole, err := spec.Inputs(data.Train)
	if err != nil {
		return nil, err
	}
	out := [][][]float64{{trained.Model}, nil, nil}
	for _, part := range train.Evenly(data.Train, spec)[spec.Byzantine:] {
		ways, err := adapt.Fit(whole.Subset(part), trained.Model)
		if err != nil {
			return nil, err
		}
		alone := ways[len(ways)-1]
		out[1], out[2] = append(out[1], alone.Parameters), append(out[2], adapt.Best(ways).Parameters)
	}
	return out, nil
}

// means returns the means over some models of AUC, accuracy, Brier score and ECE.
func means(measured *evaluate.Evaluator, models [][]float64) (out [4]float64, err error) {
	for _, m := range models {
		e, err := measured.Evaluate(m)
		if err != nil {
			return out, err
		}
		q := e.Quality
		if q == nil { // of more than two classes
			q = &evaluate.Quality{AUC: math.NaN(), Accuracy: e.Accuracy, Brier: math.NaN(), ECE: math.NaN()}
		}
		for i, v := range []float64{q.AUC, q.Accuracy, q.Brier, q.ECE} {
			out[i] += v / float64(len(models))
		}
	}
	return out, nil
}
