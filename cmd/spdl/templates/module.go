package templates

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/mnist"
)

// Module is a model that a user's Python function builds: a PyTorch module, or a linear model of NumPy or scikit-learn.
type Module struct {
	Source string // FILE.py:FUNCTION
	// Data is a file or folder, which is copied into the study; "" for MNIST. Groups of a folder or of
	// load are the unit of privacy.
	Data  string
	Label string // the column of the labels, if Data is a table
	Group string // the column of the groups, which are then the unit of privacy; "" for none
	// Schema is the path of a JSON file that describes Data, in place of Label and Group; inputs are then those of the
	// built-in models.
	Schema string
	Head   string // "linear" or "mlp", a head for the features in Data, in place of Source
	Adapt  string // what is trained of a pretrained module: "bias", "lora:rank=4", or "" for what it does not freeze
}

// source matches a valid Module.Source. Python imports the file by its name, so the name has few characters.
var source = regexp.MustCompile(`^(.*?)([A-Za-z_][A-Za-z0-9_]*)\.py:([A-Za-z_][A-Za-z0-9_]*)$`)

// Check returns an error if Source does not have its form, or a Head's Data are no file of features.
func (m Module) Check() error {
	if m.Head != "" {
		if e := filepath.Ext(m.Data); e != ".npz" && e != ".csv" && !table.IsParquet(m.Data) {
			return fmt.Errorf("--features is %q, want a file of .npz, .csv or Parquet", m.Data)
		}
		return nil
	}
	_, _, err := m.names()
	return err
}

// names returns the names of the Python module and of the function.
func (m Module) names() (module, function string, err error) {
	part := source.FindStringSubmatch(m.Source)
	switch {
	case part == nil:
		return "", "", fmt.Errorf("--module %q: want FILE.py:FUNCTION, as in my.py:build, with letters, digits and "+
			"underscores", m.Source)
	case part[2] == "train" || part[2] == "spdl_trainer":
		return "", "", fmt.Errorf("--module %q: the study has a %s of its own: rename the file", m.Source, part[2])
	}
	return part[2], part[3], nil
}

// Write writes the study of a module to a folder, which must not exist or be empty, and returns the
// parameters. If it fails, it leaves nothing there.
func (m Module) Write(ctx context.Context, dir string, o Options) (p params.Params, err error) {
	if m.Head != "" {
		own, err := os.MkdirTemp("", "spdl-head-")
		if err != nil {
			return p, err
		}
		defer func() { _ = os.RemoveAll(own) }()
		if m.Source, err = m.headFile(own); err != nil {
			return p, err
		}
	}
	module, function, err := m.names()
	if err != nil {
		return p, err
	}
	if err := vacant(dir); err != nil {
		return p, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return p, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return p, err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), ".spdl-new-")
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if p, err = m.draft(ctx, draft, module, function, filepath.Base(dir), o); err != nil {
		return p, err
	}
	return p, move(draft, dir)
}

// move moves the content of a folder to another folder, which may be the empty working directory.
func move(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// heads maps the heads of features to their hidden units.
var heads = map[string]string{"linear": "0", "mlp": "32"}

// headFile writes the file of a head to a folder of its own, and returns what its build function is called.
func (m Module) headFile(dir string) (string, error) {
	script, err := files.ReadFile("head/head.py")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "head.py")
	return file + ":build", os.WriteFile(file, bytes.ReplaceAll(script, []byte("HIDDEN"), []byte(heads[m.Head])), 0o600)
}

// draft writes the study to a folder.
func (m Module) draft(ctx context.Context, dir, module, function, name string, o Options) (p params.Params, err error) {
	if err := os.CopyFS(dir, trainer.Package()); err != nil { // the study needs no pip
		return p, err
	}
	if len(o.Sites) > 0 {
		if err := m.joinSites(dir, &o); err != nil {
			return p, err
		}
		defer func() { err = cmp.Or(err, os.Remove(m.Data)) }() // copied as other data are
	}
	c, err := m.copyData(dir)
	if err != nil {
		return p, err
	}
	if c.Centred {
		m.Group = c.Table.Group
		fmt.Fprintf(o.Log, "a row has %d inputs, those of the built-in models: the schema's in its order, less a typical "+
			"row's, and the constant %g\n", c.Table.Inputs()+1, params.TableConstant)
	}
	d, err := describe(ctx, dir, m.Source, c, o)
	if err != nil {
		return p, err
	}
	c.Weights = d.Weights
	if !d.Reads && m.Data == "" { // nothing would read MNIST
		c.Data = ""
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			return p, err
		}
	}
	if err := d.copyFiles(filepath.Dir(m.Source), dir); err != nil {
		return p, err
	}
	if p, err = d.params(c, o); err != nil {
		return p, err
	}
	if d.Weights != nil {
		fmt.Fprintf(o.Log, "%s\nconstants are in %s: each member needs the same file beside train.py\n",
			printable.Text(d.About), filepath.Join(name, d.Weights.File))
	}
	for _, text := range d.Warnings {
		fmt.Fprintln(o.Log, "warning:", printable.Text(text))
	}
	if d.Groups && !m.grouped() {
		fmt.Fprintln(o.Log, "load returns groups: the unit is a group")
	}
	if d.Groups || m.grouped() {
		p.Privacy.Unit = params.UnitGroup
	}
	if d.Pace != "" {
		fmt.Fprintln(o.Log, printable.Text(d.Pace))
	}
	o.patience = d.Patience
	script, err := files.ReadFile("module/train.py")
	if err != nil {
		return p, err
	}
	s := study{params: p, about: fmt.Sprintf("the model that %s of %s.py builds", function, module),
		script: []byte(strings.NewReplacer("MODULE", module, "FUNCTION", function).Replace(string(script))),
		needs:  "the Python packages that " + module + ".py imports, and python3-numpy"}
	return p, s.write(dir, name, o)
}

// grouped reports whether groups are the unit of privacy: by the table's column, or by the file of a folder of images.
func (m Module) grouped() bool {
	_, err := os.Stat(filepath.Join(m.Data, mnist.GroupsFile))
	return m.Group != "" || m.Data != "" && err == nil
}

// mostRows is the max number of bytes of rows in a step for which SPDL clips the rows. With more,
// the trainer clips them, unless the user decides otherwise.
const mostRows = 32 << 20

// params returns the parameters of the preset external for a described model.
func (d description) params(c trainerConfig, o Options) (params.Params, error) {
	config, err := c.text()
	if err != nil {
		return params.Params{}, err
	}
	m := params.Model{Kind: params.ModelExternal, Clipping: cmp.Or(o.Clipping, params.ClippingRows), Config: config,
		Tensors: d.Tensors}
	own := preset.Own{Model: &m, Examples: max(1, d.Examples/o.Validators), Rounds: o.Rounds, Epsilon: o.Epsilon,
		Norm: d.Norm, Gradient: d.Gradient}
	p, err := preset.Make(preset.NameExternal, o.Validators, own)
	if err == nil && o.Batch > 0 {
		err = preset.SetBatch(&p, o.Batch)
	}
	if rate := &p.Training.LearningRate; o.LearningRate > 0 {
		*rate = o.LearningRate
	} else if d.Step > 0 && d.Step < *rate && d.Loads {
		fmt.Fprintf(o.Log, "warning: at a learning rate above %g (--learning-rate), as this one, the first layer's units "+
			"may go dead if the rows of load are standardised: they are private, and were not looked at\n", d.Step)
	} else if d.Step > 0 && d.Step < *rate {
		fmt.Fprintf(o.Log, "the learning rate is %g and not %g: with longer steps the first layer's units may go dead, as "+
			"made-up rows say\n", d.Step, *rate)
		*rate = d.Step
	}
	if err == nil && o.Clipping == "" && 4*p.Model.Dim()*int(p.Privacy.Batch) > mostRows {
		p.Model.Clipping = params.ClippingSum
	}
	return p, err
}
