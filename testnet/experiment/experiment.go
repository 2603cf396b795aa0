package experiment

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// Experiment is one figure.
type Experiment struct {
	Name  string
	Title string
	// Paper is the paper's statement about the figure, in its words or nearly; "" for our own figures.
	Paper string
	// X is the name of the cells' x. It is "" if they have none, or if the figure makes it obvious.
	X string
	// axis formats the x of a cell. Only sweeps set it.
	axis axis
	// Reads says how the figure combines several seeds. "" stands for means with the min and the max.
	Reads string
	// wide says that a run with other experiments computes only the first seed, because there are many cells.
	wide bool
	// cells lists the cells to compute for one seed.
	cells func(o Options) ([]Cell, error)
	// draw makes the figure and the table of a report.
	draw func(r Results) (figure.Figure, Table)
}

// Options shape a run.
type Options struct {
	Seeds int // of each cell: First and the following ones
	First uint64
	Quick bool // fewer rounds and cells: for CI, not for citing
	// NoLive leaves out the repetition of trainings on real nodes.
	NoLive bool
	// Rules and Attacks are the axes of the grid of rules under attacks, or "all" alone. nil stands
	// for the axes of the full figure, and in a quick run for a few of them.
	Rules, Attacks []string
	// The next fields also belong to that grid; nil or 0 stands for the full figure's value. They are the numbers of
	// participants, the privacy budgets (0 for no noise), the parameters of Dirichlet partitions (0 for even ones), the
	// number of attackers in place of the max tolerated number, the number of rounds, and the momentum of the workers.
	Nodes     []int
	Epsilons  []float64
	Alphas    []float64
	Byzantine *int
	Rounds    uint64
	Momentum  *float64
	// Rushing turns commitments off on the grid's chains.
	Rushing bool
	// Validation measures on a sixth of the training set, on which no participant trains, in place of the test set.
	Validation bool
}

// Cell is one training or one net, and where it belongs in the figure.
type Cell struct {
	Panel  string  `json:"panel"`
	Series string  `json:"series"`
	X      float64 `json:"x,omitempty"` // if the figure's x is not the round
	// Rerun repeats the training of the first seed on real nodes, to compare its model with the simulation's.
	Rerun bool `json:"rerun,omitempty"`
	// Exactly one of the next fields is set.
	Learn   *train.Spec `json:"learn,omitempty"`
	Latency *Latency    `json:"latency,omitempty"`
	Real    *train.Spec `json:"real,omitempty"` // as Learn, on real nodes
}

// columns returns the names of the columns of a cell's rows.
func (c Cell) columns() []string {
	switch {
	case c.Latency != nil:
		return train.TimeColumns
	case c.Real != nil:
		return train.NodesColumns
	}
	return c.Learn.Columns()
}

// all lists the experiments; a new experiment is added here.
var all = []Experiment{
	convergence, latency, byzantine, batch, epsilon, lemma1, attacks, tradeoff, dirichlet, reputation, resilience, regret,
	tolerance, slow,
}

// label names a cell with a seed.
func (e Experiment) label(c Cell, seed uint64) string {
	x := ""
	if e.axis.show != nil {
		x = fmt.Sprintf(", %s %s", e.axis.name, e.axis.show(c.X))
	}
	return fmt.Sprintf("%s: %s, %s%s, seed %d", e.Name, c.Panel, c.Series, x, seed)
}

// Check returns an error if the experiment has no cells for the options.
func (e Experiment) Check(o Options) error {
	_, err := e.cells(o)
	return err
}

// All returns the experiments.
func All() []Experiment { return all }

// Names lists the experiments.
func Names() []string {
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
	}
	return names
}

// Lookup returns the experiment of a name.
func Lookup(name string) (Experiment, error) {
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
	}
	return Experiment{}, fmt.Errorf("unknown experiment %q, want one of %s, or all", name, strings.Join(Names(), ", "))
}

// Table holds the numbers that accompany a figure.
type Table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}
