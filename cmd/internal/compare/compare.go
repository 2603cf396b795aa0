package compare

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/privacy/accountant"
)

// The reasons why runs cannot be compared.
var (
	ErrModels = errors.New("the runs train different models")
	ErrSame   = errors.New("a run is given twice")
	ErrFew    = errors.New("want two runs or more to compare")
)

// Comparison is two or more runs side by side. A row has a value for each run.
type Comparison struct {
	Runs    []Run `json:"runs"`
	Differ  []Row `json:"differ"`  // parameters, versions and faults that differ between runs
	Results []Row `json:"results"` // at the end, and at equal epsilon
}

// Row is a line of a table.
type Row struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// none stands for a value that a run does not have.
const none = "-"

// New compares runs. Equal names get a number.
func New(runs []Run) (*Comparison, error) {
	if len(runs) < 2 {
		return nil, fmt.Errorf("%d run: %w", len(runs), ErrFew)
	}
	names := map[string]int{}
	for i, r := range runs {
		if names[r.Name]++; names[r.Name] > 1 {
			runs[i].Name = fmt.Sprintf("%s (%d)", r.Name, names[r.Name])
		}
		if err := Compatible(runs[:i], runs[i]); err != nil {
			return nil, err
		}
	}
	c := &Comparison{Runs: runs}
	c.differences()
	c.results()
	return c, nil
}

// Compatible returns an error if a run cannot stand beside others: it trains another model, or has rounds
// that one of them has too. A run whose model is "" may train any.
func Compatible(runs []Run, r Run) error {
	for _, other := range runs {
		if other.Model != r.Model && other.Model != "" && r.Model != "" {
			return fmt.Errorf("%w: %s", ErrModels, modelsDiffer(other, r))
		}
		if other.Genesis == r.Genesis && (other.Epoch == nil || r.Epoch == nil || *other.Epoch == *r.Epoch) {
			return fmt.Errorf("%w: %s and %s are of the same chain, %s; @N behind a name takes epoch N alone",
				ErrSame, other.Name, r.Name, r.ChainID)
		}
	}
	return nil
}

// mostNamed is the max number of values that an error about different models names.
const mostNamed = 3

// modelsDiffer names values in which the models of two runs differ: the kind alone if it does.
func modelsDiffer(a, b Run) string {
	of := func(r Run) map[string]string {
		var tree any
		out := map[string]string{}
		if json.Unmarshal([]byte(r.Model), &tree) != nil { // of a file that somebody edited
			tree = r.Model
		}
		flatten(out, "model", tree)
		return out
	}
	first, second := of(a), of(b)
	keys := maps.Clone(first)
	maps.Copy(keys, second)
	all := slices.Sorted(maps.Keys(keys))
	all = slices.DeleteFunc(all, func(key string) bool { return first[key] == second[key] })
	if slices.Contains(all, "model.kind") {
		all = []string{"model.kind"}
	}
	more := ""
	if n := len(all) - mostNamed; n > 0 {
		all, more = all[:mostNamed], fmt.Sprintf(", and %d more", n)
	}
	for i, key := range all {
		all[i] = fmt.Sprintf("%s is %s in %s and %s in %s", key, shortened(cmp.Or(first[key], none)), a.Name,
			shortened(cmp.Or(second[key], none)), b.Name)
	}
	return strings.Join(all, ", ") + more
}

func (c *Comparison) row(name string, of func(Run) string) Row {
	row := Row{Name: name}
	for _, r := range c.Runs {
		row.Values = append(row.Values, of(r))
	}
	return row
}

// differences lists the parameters, versions and faults in which the runs differ.
func (c *Comparison) differences() {
	c.Differ = []Row{}
	add := func(row Row) {
		if slices.ContainsFunc(row.Values, func(v string) bool { return v != row.Values[0] }) {
			c.Differ = append(c.Differ, row)
		}
	}
	add(c.row("chain id", func(r Run) string { return r.ChainID }))
	add(c.row("epoch", func(r Run) string {
		if r.Epoch == nil {
			return "all"
		}
		return strconv.FormatUint(*r.Epoch, 10)
	}))
	add(c.row("state machine", func(r Run) string { return strconv.FormatUint(r.Version, 10) }))
	add(c.row("participants", func(r Run) string { return strconv.Itoa(r.People) }))
	list := func(all []string) string { return cmp.Or(strings.Join(all, ", "), none) }
	add(c.row("attacks", func(r Run) string { return list(r.Attacks) }))
	add(c.row("perturbations", func(r Run) string { return list(r.Perturbations) }))
	var keys []string
	for _, r := range c.Runs {
		for key := range r.Params {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		add(c.row(key, func(r Run) string {
			if v, ok := r.Params[key]; ok {
				return v
			}
			return none
		}))
	}
}

// results lists the results of the runs, at their ends and at the largest epsilon that all of them
// reached.
func (c *Comparison) results() {
	end := func(r Run) Point { return r.Points[len(r.Points)-1] }
	tested := func(r Run, p Point) string {
		if p.Accuracy == nil {
			return none
		}
		return fmt.Sprintf("%.4f of %d", *p.Accuracy, r.Tested)
	}
	c.Results = []Row{
		c.row("rounds", func(r Run) string { return fmt.Sprintf("%.0f", end(r).Round) }),
		c.row("test accuracy", func(r Run) string { return tested(r, r.last(func(p Point) *float64 { return p.Accuracy })) }),
		c.row("test loss", func(r Run) string {
			return number(r.last(func(p Point) *float64 { return p.Loss }).Loss, "%.4f")
		}),
		c.row("epsilon", func(r Run) string { return spent(end(r).Epsilon) }),
		c.row("lowest reputation", func(r Run) string { return number(end(r).Reputation, "%.4f") }),
		c.row("seconds a round", func(r Run) string {
			if first := r.Points[0].Round; end(r).Round > first {
				return fmt.Sprintf("%.3f", end(r).Seconds/(end(r).Round-first))
			}
			return none
		}),
		c.row("proven offences", func(r Run) string { return strconv.Itoa(r.Offences) }),
		c.row("leaders passed over", func(r Run) string { return strconv.Itoa(r.PassedOver) }),
	}
	equal := c.equalEpsilon()
	if equal == nil {
		return
	}
	at := func(r Run) (found Point) {
		for _, p := range r.Points {
			if p.Epsilon != nil && *p.Epsilon <= *equal && p.Accuracy != nil {
				found = p
			}
		}
		return found
	}
	c.Results = append(c.Results,
		c.row("test accuracy at epsilon "+spent(equal), func(r Run) string { return tested(r, at(r)) }),
		c.row("round at epsilon "+spent(equal), func(r Run) string {
			if p := at(r); p.Round > 0 {
				return fmt.Sprintf("%.0f", p.Round)
			}
			return none
		}))
}

// equalEpsilon returns the largest epsilon that all runs reached, or nil if a run has no ledger.
func (c *Comparison) equalEpsilon() (equal *float64) {
	for _, r := range c.Runs {
		e := r.Points[len(r.Points)-1].Epsilon
		if e == nil {
			return nil
		}
		if equal == nil || *e < *equal {
			equal = e
		}
	}
	return equal
}

// last returns the last point that has a value.
func (r Run) last(of func(Point) *float64) (found Point) {
	for _, p := range r.Points {
		if of(p) != nil {
			found = p
		}
	}
	return found
}

// spent returns an epsilon as text.
func spent(epsilon *float64) string {
	if epsilon == nil {
		return none
	}
	return accountant.Text(*epsilon)
}

func number(x *float64, format string) string {
	if x == nil {
		return none
	}
	return fmt.Sprintf(format, *x)
}
