package preset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// Data describes a data set other than MNIST: the properties from which parameters follow.
type Data struct {
	Examples   int           // the number of training examples, or of groups if the examples have groups; 0 if unknown
	Grouped    bool          // whether the images have groups; always false for a table, which names its group column
	Table      *params.Table // the description of the table; nil for images
	Rows, Cols int           // the images' size in pixels
	Classes    int
}

// Source names the files of a data set, and says how a table is read.
type Source struct {
	Path         string // a folder of IDX files, with groups if it has mnist.GroupsFile; or a CSV file
	Label, Group string // the names of a table's columns; Group may be empty
	Schema       string // the path of a JSON file with a params.Table; replaces Label and Group
}

// Read returns the properties of the images in a folder, or of a table. With a Schema the CSV file
// is optional: Read checks it against the schema, and without a file Examples is 0.
func (s Source) Read() (Data, error) {
	if s.Schema != "" {
		return s.readSchema()
	}
	path, label, group := s.Path, s.Label, s.Group
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Data{}, err
	case !info.IsDir() && label == "":
		return Data{}, fmt.Errorf("%s is a table: name the column of its labels, as in --label diagnosis, or the members' "+
			"--schema, which `spdl schema draft` drafts", path)
	case !info.IsDir():
		t, units, err := table.Shape(path, label, group)
		return Data{Examples: table.Examples(units), Table: &t, Classes: len(t.Classes)}, err
	case group != "":
		return Data{}, fmt.Errorf("%s is a folder of images: a column of groups, here %q, is for a CSV file; the groups of "+
			"images are in the folder's file %s", path, group, mnist.GroupsFile)
	case label != "":
		return Data{}, fmt.Errorf("%s is a folder of images, whose labels are in a file of their own: a column of labels, "+
			"here %q, is for a CSV file", path, label)
	}
	d, err := mnist.Load(path)
	return Data{Examples: len(mnist.Units(d.Train.Groups, d.Train.Len())), Grouped: d.Train.Groups != nil,
		Rows: d.Train.Rows, Cols: d.Train.Cols, Classes: max(d.Train.Classes(), d.Test.Classes())}, err
}

// readSchema returns the table that the schema describes, and the number of examples in the file.
func (s Source) readSchema() (Data, error) {
	if s.Label+s.Group != "" {
		return Data{}, fmt.Errorf("label %q, group %q and schema %s: the schema names both columns", s.Label, s.Group,
			s.Schema)
	}
	t, err := load[params.Table](s.Schema)
	if errors.Is(err, errNoObject) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (spdl schema draft makes a schema of a table)", err)
	}
	if err != nil {
		return Data{}, err
	}
	if len(t.Classes) < 2 || len(t.Columns) == 0 {
		return Data{}, fmt.Errorf("%s: the schema has %d classes and %d columns, want at least 2 and 1: spdl schema draft "+
			"makes one of a file", s.Schema, len(t.Classes), len(t.Columns))
	}
	d := Data{Table: &t, Classes: len(t.Classes)}
	if err := d.fitModel(&params.Model{}); err != nil {
		return Data{}, fmt.Errorf("%s: %w", s.Schema, err)
	}
	if s.Path == "" {
		return d, nil
	}
	units, err := table.Units(s.Path, t)
	d.Examples = table.Examples(units)
	return d, err
}

// fitModel adapts the model's inputs and classes to the data.
func (d Data) fitModel(m *params.Model) error {
	m.Classes = uint32(d.Classes)
	if d.Table != nil {
		m.Table, m.Inputs, m.Pool = d.Table, uint32(d.Table.Inputs()+1), 1 // one more for the constant: centred
		m.PixelMean, m.PixelScale = params.TableMean, params.TableScale
		if m.NoBias = m.Kind != params.ModelMLP; m.NoBias && d.Classes == 2 {
			m.Kind = params.ModelLogistic
		}
		return m.Table.Validate(*m)
	}
	if m.Features.Name == params.FeaturesStrokes {
		return nil
	}
	const large = 28 // images with a shorter side, in pixels, are not pooled
	if min(d.Rows, d.Cols) < large || d.Rows%int(m.Pool) != 0 || d.Cols%int(m.Pool) != 0 {
		m.Pool = 1
	}
	inputs, err := mnist.Inputs(d.Rows, d.Cols, int(m.Pool))
	m.Inputs = uint32(inputs)
	return err
}
