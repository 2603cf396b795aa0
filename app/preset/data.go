package preset

import (
	"cmp"
	"fmt"
	"math"
	"os"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
)

// Data holds the properties of data other than MNIST on which parameters depend.
type Data struct {
	Examples   int           // in the training set; groups if the table has them
	Table      *params.Table // nil for images
	Rows, Cols int           // of images, in pixels
	Classes    int
}

// Source names data, and how a table is read.
type Source struct {
	Path         string // a folder of IDX files, or a CSV file
	Label, Group string // columns of a table whose bounds and classes are those of the file
	Schema       string // a JSON file of a table, in the form that it has in parameters, in place of both
}

// Read returns the properties of the images in a folder, or of a table. With a schema the table is
// the schema's and the file, if there is one, must fit it; without a file Examples is 0.
func (s Source) Read() (Data, error) {
	if s.Schema != "" {
		return s.bySchema()
	}
	path, label, group := s.Path, s.Label, s.Group
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Data{}, err
	case !info.IsDir() && label == "":
		return Data{}, fmt.Errorf("%s is a table: name the column of its labels, as in --label diagnosis, or the members' "+
			"--schema", path)
	case !info.IsDir():
		t, units, err := table.Shape(path, label, group)
		return Data{Examples: table.Examples(units), Table: &t, Classes: len(t.Classes)}, err
	case group != "":
		return Data{}, fmt.Errorf("%s is a folder of images, which have no groups: a column of groups, here %q, is for a "+
			"CSV file", path, group)
	case label != "":
		return Data{}, fmt.Errorf("%s is a folder of images, whose labels are in a file of their own: a column of labels, "+
			"here %q, is for a CSV file", path, label)
	}
	d, err := mnist.Load(path)
	return Data{Examples: d.Train.Len(), Rows: d.Train.Rows, Cols: d.Train.Cols,
		Classes: max(d.Train.Classes(), d.Test.Classes())}, err
}

// bySchema returns the table of a schema, with the number of examples in a file.
func (s Source) bySchema() (Data, error) {
	if s.Label+s.Group != "" {
		return Data{}, fmt.Errorf("label %q, group %q and schema %s: the schema names both columns", s.Label, s.Group,
			s.Schema)
	}
	t, err := load[params.Table](s.Schema)
	if err != nil {
		return Data{}, err
	}
	d := Data{Table: &t, Classes: len(t.Classes)}
	if err := d.fit(&params.Model{}); err != nil {
		return Data{}, fmt.Errorf("%s: %w", s.Schema, err)
	}
	if s.Path == "" {
		return d, nil
	}
	units, err := table.Units(s.Path, t)
	d.Examples = table.Examples(units)
	return d, err
}

// fit adapts the model to the data.
func (d Data) fit(m *params.Model) error {
	m.Classes = uint32(d.Classes)
	if d.Table != nil {
		m.Table, m.Inputs, m.Pool = d.Table, uint32(d.Table.Inputs()), 1
		m.PixelMean, m.PixelScale = params.TableMean, params.TableScale
		return m.Table.Validate(*m)
	}
	if m.Features.Name == params.FeaturesStrokes {
		return nil
	}
	const large = 28 // a smaller image keeps all its pixels
	if min(d.Rows, d.Cols) < large || d.Rows%int(m.Pool) != 0 || d.Cols%int(m.Pool) != 0 {
		m.Pool = 1
	}
	inputs, err := mnist.Inputs(d.Rows, d.Cols, int(m.Pool))
	m.Inputs = uint32(inputs)
	return err
}

// smallRate is the sampling rate of participants with fewer examples than their share of MNIST. At
// the same epsilon the noise of the whole training, z/(q sqrt(T)), is lower than at a rate of 0.1.
const smallRate = 0.3

// scale adapts the batch to a participant's number of examples. The number in the measurements,
// measured, is a participant's share of MNIST. With fewer examples scale sets the smallest noise
// multiplier at which the ledger pays for all rounds. It lowers the learning rate as the noise in a
// gradient grows, so that a step adds no more noise to the model than in the measurements.
func scale(p *params.Params, own Own, examples, measured int) error {
	if p.Privacy.SamplingRate == 0 { // batches of fixed size
		p.Privacy.Batch = min(p.Privacy.Batch, uint32(examples))
		return nil
	}
	signal := float64(p.Privacy.Batch) / p.Privacy.NoiseMultiplier
	if examples < measured {
		p.Privacy.SamplingRate = max(p.Privacy.SamplingRate, smallRate)
		p.Privacy.Epsilon = cmp.Or(own.Epsilon, p.Privacy.Epsilon)
		if err := leastNoise(p); err != nil {
			return err
		}
	}
	p.Privacy.Batch = uint32(max(1, math.Round(float64(examples)*p.Privacy.SamplingRate)))
	p.Training.LearningRate *= min(1, float64(p.Privacy.Batch)/p.Privacy.NoiseMultiplier/signal)
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}
