package templates

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/mnist"
)

// dataConfig is the configuration of a study's trainer that reads data.
type dataConfig struct {
	Data  string        `json:"data"` // from the study's folder
	Table *params.Table `json:"table,omitempty"`
}

// copyData copies the data into the study, and returns the trainer's configuration that names them.
func (m Module) copyData(dir string) (string, error) {
	c := dataConfig{Data: "data"}
	info, err := os.Stat(m.Data)
	switch {
	case m.Data == "":
		err = mnist.Write(dir)
	case err != nil:
	case info.IsDir() && m.Label == "":
		err = os.CopyFS(filepath.Join(dir, c.Data), os.DirFS(m.Data))
	default:
		c.Data += filepath.Ext(m.Data)
		if m.Label != "" {
			var d preset.Data
			d, err = preset.Source{Path: m.Data, Label: m.Label, Group: m.Group}.Read()
			c.Table = d.Table
		}
		if err == nil {
			err = copyFile(m.Data, filepath.Join(dir, c.Data))
		}
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(c)
	return string(text), err
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

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
