package home

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// EmbeddedData is the value of worker.data that means the embedded MNIST instead of a path.
const EmbeddedData = "embedded"

// DataOf reads the data at a path for a chain's model, as LoadData does.
type DataOf func(path string, m params.Model) (mnist.Data, error)

// PartOf reads a part of the training data at a path for a chain's model, as LoadPart does.
type PartOf func(path string, m params.Model, part mnist.Part) (mnist.Set, error)

// LoadPart reads a part of the training data that LoadData would return. It does not decode images of other parts.
func LoadPart(path string, m params.Model, part mnist.Part) (mnist.Set, error) {
	switch {
	case m.Table == nil && isEmbedded(path):
		return mnist.EmbeddedPart(part)
	case m.Table == nil && isFolder(path):
		return mnist.LoadPart(path, part)
	}
	d, err := LoadData(path, m)
	if err != nil {
		return mnist.Set{}, err
	}
	return d.Train.Part(part)
}

// LoadTest reads the test data that LoadData would return. It does not read training images.
func LoadTest(path string, m params.Model) (mnist.Set, error) {
	switch {
	case m.Table == nil && isEmbedded(path):
		return mnist.EmbeddedTest()
	case m.Table == nil && isFolder(path):
		return mnist.LoadTest(path)
	}
	d, err := LoadData(path, m)
	return d.Test, err
}

// CheckGroups returns inputs.ErrInputs if the unit of privacy is a group and the training data have no groups.
func CheckGroups(path string, train mnist.Set, p params.Params) error {
	if p.Privacy.Unit != params.UnitGroup || train.Groups != nil {
		return nil
	}
	return fmt.Errorf("%w: privacy.unit is %q, and the images of %s have no groups: want the file %s beside their "+
		"labels, with the columns image and group", inputs.ErrInputs, params.UnitGroup, cmp.Or(path, EmbeddedData),
		mnist.GroupsFile)
}

func isEmbedded(path string) bool { return path == "" || path == EmbeddedData }

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// LoadData reads the data for a chain's model. A path of "" or EmbeddedData means the embedded
// MNIST. Any other path is a CSV file if the model takes a table, and a folder of IDX files if it
// takes images. LoadData fails with inputs.ErrInputs if the path and the model do not match.
func LoadData(path string, m params.Model) (mnist.Data, error) {
	if isEmbedded(path) {
		if m.Table != nil {
			return mnist.Data{}, fmt.Errorf("%w: the embedded MNIST are images, and the chain's model wants %s: name a CSV "+
				"file that has them", inputs.ErrInputs, inputsOf(m))
		}
		return mnist.Embedded()
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return mnist.Data{}, err
	case m.Table == nil && info.Mode().IsRegular():
		return mnist.Data{}, fmt.Errorf("%w: %s is a file, read as a table, and the chain's model wants images for %d "+
			"inputs and %d classes: name a folder of IDX files; %s FILE --label COLUMN",
			inputs.ErrInputs, path, m.Inputs, m.Classes, inputs.Remedy)
	case m.Table == nil:
		return mnist.Load(path)
	case info.IsDir():
		return mnist.Data{}, fmt.Errorf("%w: %s is a folder, and the chain's model wants %s: name a CSV file that "+
			"has them; %s",
			inputs.ErrInputs, path, inputsOf(m), inputs.Remedy)
	}
	d, err := table.Load(path, *m.Table)
	if err != nil {
		err = fmt.Errorf("%w; the chain's model wants %s", err, inputsOf(m))
	}
	return d, err
}

// inputsOf describes the inputs and classes of a model for tables.
func inputsOf(m params.Model) string {
	return fmt.Sprintf("%d columns of a table and %d classes in its column %q", len(m.Table.Columns), m.Classes,
		m.Table.Label)
}
