package experiment

import "fmt"

// Rerun describes a training that real nodes repeated, and that ended in the same model as in the simulation.
type Rerun struct {
	Panel  string `json:"panel"`
	Series string `json:"series"`
	Nodes  int    `json:"nodes"`
	Rounds int    `json:"rounds"`
	Model  string `json:"model"` // its hash
}

// quickNodes is the number of nodes of the largest net that a quick run starts.
const quickNodes = 10

// withReruns adds the same training on real nodes after each cell with Rerun.
func (o Options) withReruns(cells []Cell) []Cell {
	var out []Cell
	for _, c := range cells {
		out = append(out, c)
		if c.Rerun && !o.NoLive && !o.Validation && (!o.Quick || c.Learn.Nodes <= quickNodes) {
			out = append(out, Cell{Panel: c.Panel, Series: c.Series + " on real nodes", X: c.X, Real: c.Learn})
		}
	}
	return out
}

// compare removes the re-runs from the results, and compares each with the training that it repeats.
func (r Results) compare() (drawn Results, reruns []Rerun, err error) {
	for i, x := range r {
		if x.Cell.Real == nil {
			drawn = append(drawn, x)
			continue
		}
		first := i - 1 // of the previous cell, with the same seed
		for r[first].Seed != x.Seed {
			first--
		}
		if x.Model != r[first].Model {
			return nil, nil, fmt.Errorf("%s, %s ended in model %s, and the simulation in %s", x.Cell.Panel, x.Cell.Series,
				x.Model, r[first].Model)
		}
		reruns = append(reruns, Rerun{r[first].Cell.Panel, r[first].Cell.Series, x.Cell.Real.Nodes, len(x.Rows), x.Model})
	}
	return drawn, reruns, nil
}
