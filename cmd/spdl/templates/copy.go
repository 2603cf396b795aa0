package templates

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/mnist"
)

// trainerConfig is the configuration of a study's trainer.
type trainerConfig struct {
	Data    string        `json:"data,omitempty"` // from the study's folder
	Table   *params.Table `json:"table,omitempty"`
	Centred bool          `json:"centred,omitempty"` // the inputs are those of the built-in models: less a typical row's
	Weights *weights      `json:"weights,omitempty"`
	Adapt   string        `json:"adapt,omitempty"`
}

// WeightsFile is the file of a model's constants in a study: frozen tensors, buffers and start values.
const WeightsFile = "weights.safetensors"

// HasConstants reports whether an external model has constants in a WeightsFile, to which its tensors are added.
func HasConstants(m params.Model) bool { return strings.Contains(m.Config, WeightsFile) }

// weights names a study's WeightsFile in model.config.
type weights struct {
	File   string `json:"file"` // from the study's folder
	SHA256 string `json:"sha256"`
}

// text returns the configuration as it stands in model.config, "" without content.
func (c trainerConfig) text() (string, error) {
	text, err := json.Marshal(c)
	return strings.TrimPrefix(string(text), "{}"), err
}

// copyData copies the data into the study, and returns the trainer's configuration that names them.
func (m Module) copyData(dir string) (trainerConfig, error) {
	c := trainerConfig{Data: "data", Adapt: m.Adapt}
	info, err := os.Stat(m.Data)
	switch {
	case m.Data == "":
		err = mnist.Write(dir)
	case err != nil:
	case info.IsDir() && m.Label+m.Schema == "":
		err = os.CopyFS(filepath.Join(dir, c.Data), os.DirFS(m.Data))
	default:
		c.Data += filepath.Ext(m.Data)
		if m.Label+m.Schema != "" {
			var d preset.Data
			d, err = preset.Source{Path: m.Data, Label: m.Label, Group: m.Group, Schema: m.Schema}.Read()
			c.Table, c.Centred = d.Table, m.Schema != ""
			if err == nil && len(d.Table.Weights) > 0 {
				err = fmt.Errorf("%s has weights %v of classes, which are for built-in models: leave them out, or weigh the "+
					"loss in train.py", m.Schema, d.Table.Weights)
			}
		}
		if parquet := m.Head+m.Label+m.Schema != "" && table.IsParquet(m.Data); err == nil && parquet {
			c.Data = "data.csv" // as a trainer gets it
			err = table.WriteCSV(m.Data, filepath.Join(dir, c.Data))
		} else if err == nil {
			err = copyFile(m.Data, filepath.Join(dir, c.Data))
		}
	}
	return c, err
}

// joinSites copies the files of sites into the study, without columns that not all have, and writes all their rows to a
// file, which becomes the data. It warns of sites that write a column otherwise than the others.
func (m *Module) joinSites(dir string, o *Options) error {
	d, err := preset.Source{Schema: m.Schema}.Read()
	if err != nil {
		return err
	}
	var fits []table.Fit
	for _, path := range o.Sites {
		fit, err := table.FitOf(path, *d.Table)
		if err != nil {
			return err
		}
		fits = append(fits, fit)
	}
	for _, text := range table.Apart(fits, *d.Table) {
		fmt.Fprintln(o.Log, "warning:", printable.Text(text))
	}
	folder, paths := filepath.Join(dir, "sites"), o.Sites
	m.Data, o.Sites = filepath.Join(dir, "all.csv"), nil
	parts, err := table.Join(paths, m.Data, folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	for i := 0; i < len(parts) && err == nil; i++ {
		name := filepath.Base(parts[i].Path)
		if o.Sites = append(o.Sites, filepath.Join("sites", name)); parts[i].Path == paths[i] {
			err = copyFile(paths[i], filepath.Join(folder, name))
		}
	}
	return err
}

// copyFiles copies the model's file, and the files beside it that it imports.
func (d description) copyFiles(from, to string) error {
	for _, name := range d.Files {
		target := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(from, filepath.FromSlash(name)), target); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
