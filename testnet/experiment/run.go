package experiment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// Runner computes experiments.
type Runner struct {
	Options
	Dir     string // output folder
	Command string // the user's command line, for the files
	Version string // of the program: cells of other versions are computed again
	Data    func() (mnist.Data, error)
	Jobs    int       // cells at a time; 0 for the number of cores
	Log     io.Writer // progress

	many bool // there are several experiments, so wide ones compute only the first seed
}

// job is a cell with a seed.
type job struct {
	cell Cell
	seed uint64
	path string
	name string // for messages
}

// Run computes the experiments' missing cells and writes their files. A net that fails affects only its own figure.
func (r Runner) Run(ctx context.Context, experiments ...Experiment) error {
	if r.Seeds < 1 {
		return fmt.Errorf("%d seeds, want at least 1", r.Seeds)
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, "cells"), 0o755); err != nil {
		return err
	}
	r.many = len(experiments) > 1
	if given := r.Data; r.Validation {
		r.Data = sync.OnceValues(func() (mnist.Data, error) {
			data, err := given()
			return train.Validation(data), err
		})
	}
	todo, err := r.plan(experiments)
	if err != nil {
		return err
	}
	p := &progress{
		log: r.Log, start: time.Now(), total: len(todo.alone) + len(todo.together),
		ahead: cost(todo.alone) + cost(todo.together)/float64(r.jobs()),
	}
	fmt.Fprintf(r.Log, "%d cells, each a training or a net, %d of them shared or finished before\n", todo.total,
		todo.total-p.total)
	if n := len(todo.alone); n > 0 {
		fmt.Fprintf(r.Log, "the last %d run on real nodes; --no-live leaves out those that repeat a training\n", n)
	}
	if err = r.work(ctx, todo.together, r.jobs(), p); err == nil {
		for _, j := range todo.alone {
			if ctx.Err() == nil {
				err = errors.Join(err, r.work(ctx, []job{j}, 1, p))
			}
		}
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted; finished cells, %d of this run, are kept in %s", p.count,
			filepath.Join(r.Dir, "cells"))
	}
	for i, e := range experiments {
		switch failed := r.finish(e, todo.of[i]); {
		case err != nil && errors.Is(failed, os.ErrNotExist): // some of its cells were not computed
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", e.Name, failed))
		}
	}
	return err
}

// A plan lists the jobs of a run.
type plan struct {
	of              [][]job // of each experiment, finished jobs included
	total           int     // number of jobs in of
	together, alone []job   // jobs to compute; nets are timed, so each runs alone on the machine
}

// plan lists the jobs of the experiments. A job that several experiments need is computed once.
func (r Runner) plan(experiments []Experiment) (plan, error) {
	out := plan{of: make([][]job, len(experiments))}
	var repeats []job // of a training on real nodes, which come after those that measure
	seen := map[string]bool{}
	for i, e := range experiments {
		all, err := r.jobsOf(e)
		if err != nil {
			return plan{}, err
		}
		out.of[i] = all
		out.total += len(all)
		for _, j := range all {
			if _, err := r.read(j); err == nil || seen[j.path] {
				continue
			}
			seen[j.path] = true
			switch {
			case j.cell.Learn != nil:
				out.together = append(out.together, j)
			case j.cell.Real != nil:
				repeats = append(repeats, j)
			default:
				out.alone = append(out.alone, j)
			}
		}
	}
	out.alone = append(out.alone, repeats...)
	return out, nil
}

// seedsOf returns the number of seeds that an experiment computes.
func (r Runner) seedsOf(e Experiment) uint64 {
	if e.wide && r.many {
		return 1
	}
	return uint64(r.Seeds)
}

// first returns the first seed.
func (o Options) first() uint64 { return max(1, o.First) }

// jobsOf returns the cells of an experiment with each of their seeds.
func (r Runner) jobsOf(e Experiment) (jobs []job, err error) {
	cells, err := e.cells(r.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	for _, c := range r.withReruns(cells) {
		seeds := r.seedsOf(e)
		if c.Real != nil || c.Latency != nil && c.Latency.Step > 0 { // slow cells: one seed is enough
			seeds = 1
		}
		for seed := range seeds {
			j, err := r.job(c, r.first()+seed)
			if err != nil {
				return nil, err
			}
			j.name = e.label(c, j.seed)
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

func (r Runner) jobs() int { return cmp.Or(r.Jobs, runtime.GOMAXPROCS(0)) }

// job returns a cell with its seed. The name of the cell's file is a hash of everything on which its numbers depend.
func (r Runner) job(c Cell, seed uint64) (job, error) {
	switch {
	case c.Learn != nil:
		spec := *c.Learn
		spec.Seed = seed
		c.Learn = &spec
	case c.Real != nil:
		again := *c.Real
		again.Seed = seed
		c.Real = &again
	}
	key, err := json.Marshal(struct {
		Learn   *train.Spec
		Latency *Latency
		Real    *train.Spec
		Seed    uint64
		Version string

		Validation bool `json:",omitempty"`
	}{c.Learn, c.Latency, c.Real, seed, r.Version, r.Validation})
	if err != nil {
		return job{}, err
	}
	sum := sha256.Sum256(key)
	return job{cell: c, seed: seed, path: filepath.Join(r.Dir, "cells", hex.EncodeToString(sum[:10])+".json")}, nil
}

// work computes jobs, several at a time, until the first failure.
func (r Runner) work(ctx context.Context, jobs []job, workers int, p *progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan job)
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Go(func() {
			for j := range queue {
				begun := time.Now()
				if err := r.compute(ctx, j); err != nil {
					cancel(fmt.Errorf("%s: %w", j.name, err))
					return
				}
				p.done(j, time.Since(begun), cost([]job{j})/float64(workers))
			}
		})
	}
	for _, j := range jobs {
		select {
		case queue <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	wg.Wait()
	return context.Cause(ctx)
}

// compute runs a cell and stores its result. The file appears complete or not at all.
func (r Runner) compute(ctx context.Context, j job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	table, model, err := r.result(ctx, j)
	if err != nil {
		return err
	}
	x := Result{
		Cell: j.cell, Seed: j.seed, Version: r.Version, Seconds: time.Since(begun).Seconds(), Columns: j.cell.columns(),
		Model: model,
	}
	for _, line := range table {
		x.Rows = append(x.Rows, line)
	}
	if x.Sum, err = x.sum(); err != nil {
		return err
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return tempfile.WriteFileAtomic(j.path, raw, 0o644)
}

// result returns a cell's table, and the fingerprint of its last model.
func (r Runner) result(ctx context.Context, j job) (table [][]float64, model string, err error) {
	if l := j.cell.Latency; l != nil {
		table, err = train.Time(ctx, l.Nodes, l.Rounds, l.Step, j.seed)
		return table, "", err
	}
	data, err := r.Data()
	if err != nil {
		return nil, "", err
	}
	if j.cell.Real != nil {
		rows, parameters, err := train.OnNodes(ctx, *j.cell.Real, data)
		return rows, train.Fingerprint(parameters), err
	}
	out, err := train.Run(ctx, *j.cell.Learn, data)
	return out.Rows, train.Fingerprint(out.Model), err
}

// read returns a finished job, or an error if its file was changed or damaged.
func (r Runner) read(j job) (x Result, err error) {
	raw, err := os.ReadFile(j.path)
	if err != nil {
		return x, err
	}
	if err = json.Unmarshal(raw, &x); err != nil {
		return x, fmt.Errorf("%s: %w", j.path, err)
	}
	sum, err := x.sum()
	if err != nil {
		return x, err
	}
	own, err := r.job(x.Cell, x.Seed) // the file may be that of another job, under this job's name
	if err == nil && (sum != x.Sum || own.path != j.path || !slices.Equal(x.Columns, j.cell.columns()) ||
		len(x.Rows) == 0) {
		err = fmt.Errorf("%s is damaged", j.path)
	}
	return x, err
}

// sum returns the hash of a result without its own hash.
func (x Result) sum() (string, error) {
	x.Sum = ""
	raw, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// finish writes an experiment's files.
func (r Runner) finish(e Experiment, jobs []job) error {
	var results Results
	for _, j := range jobs {
		x, err := r.read(j)
		if err != nil {
			return err
		}
		x.Cell = j.cell // another experiment may have computed it under its own names
		results = append(results, x)
	}
	drawn, reruns, err := results.compare()
	if err != nil {
		return err
	}
	for _, x := range reruns {
		fmt.Fprintf(r.Log, "%s, %s: %d real nodes ended in the same model\n", x.Panel, x.Series, x.Nodes)
	}
	return r.files(e, drawn, reruns)
}

// MarshalJSON writes null for NaN and infinities.
func (r row) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(r))
	for i := range r {
		if !math.IsNaN(r[i]) && !math.IsInf(r[i], 0) {
			out[i] = &r[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *row) UnmarshalJSON(raw []byte) error {
	var in []*float64
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*r = make(row, len(in))
	for i, x := range in {
		(*r)[i] = math.NaN()
		if x != nil {
			(*r)[i] = *x
		}
	}
	return nil
}
