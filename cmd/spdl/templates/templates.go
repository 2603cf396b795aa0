// Package templates holds the studies that spdl new writes: a trainer in Python, the
// parameters of a chain for it, and the manifest of a localnet that runs it.
package templates

import (
	"cmp"
	"embed"
	"io"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/mnist"
)

//go:embed numpy-csv sklearn pytorch-cnn module head
var files embed.FS

// Template is one study.
type Template struct {
	Name  string
	Needs string // in addition to Python
	About string
	study preset.Study
	data  func(dir string) error // writes the data
}

// All lists the templates.
func All() []Template {
	table := preset.Study{
		Examples: rows * 4 / 5, Rounds: 60, Epsilon: 2, Clip: 1, SamplingRate: 0.3, LearningRate: 2, Momentum: 0.8,
	}
	numpy, sklearn := table, table
	numpy.Model = model(params.ClippingRows, `{"file": "data.csv", "label": "label"}`,
		tensor("weight", params.InitZeros, classes, columns), tensor("bias", params.InitZeros, classes))
	sklearn.Model = model(params.ClippingRows, `{"file": "data.csv", "scale": 2.0}`,
		tensor("coef_", params.InitZeros, classes, columns), tensor("intercept_", params.InitZeros, classes))
	cnn := preset.Study{
		Examples: 60000, Rounds: 100, Epsilon: 3, Clip: 1, SamplingRate: 0.02, LearningRate: 2, Momentum: 0.5,
		Model: model(params.ClippingSum, `{"data": "data"}`,
			tensor("0.weight", params.InitGlorot, 16, 1, 8, 8), tensor("0.bias", params.InitZeros, 16),
			tensor("3.weight", params.InitGlorot, 32, 16, 4, 4), tensor("3.bias", params.InitZeros, 32),
			tensor("7.weight", params.InitGlorot, 32, 512), tensor("7.bias", params.InitZeros, 32),
			tensor("9.weight", params.InitGlorot, 10, 32), tensor("9.bias", params.InitZeros, 10)),
	}
	return []Template{
		{"numpy-csv", "python3-numpy", "softmax regression in NumPy on a CSV file", numpy, writeCSV},
		{"sklearn", "python3-numpy", "logistic regression in the manner of scikit-learn, with its names", sklearn, writeCSV},
		{"pytorch-cnn", "python3-torch and python3-numpy", "a convolutional network in PyTorch on MNIST", cnn, mnist.Write},
	}
}

// Names lists the names of the templates.
func Names() (names []string) {
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

func model(clipping, config string, tensors ...params.Tensor) params.Model {
	return params.Model{Kind: params.ModelExternal, Clipping: clipping, Config: config, Tensors: tensors}
}

func tensor(name, init string, shape ...uint32) params.Tensor {
	return params.Tensor{Name: name, Shape: shape, Init: init}
}

// Options are the user's choices for a study.
type Options struct {
	Validators   int
	Sites        []string  // files of a table, one for each validator, in place of a module's Data; none otherwise
	Rounds       uint64    // 0 stands for the template's
	Epsilon      float64   // 0 stands for the template's
	LearningRate float64   // 0 stands for the template's, or for that of the module and its rows
	Batch        int       // 0 stands for the template's, or for all examples of a participant
	Clipping     string    // "" stands for the template's
	Python       string    // the interpreter
	Log          io.Writer // gets the output of a model's file that fails, warnings, and where its groups are the unit
	patience     string    // the line of net.toml; "" for none
}

// Write writes a study to a folder, which must not exist or be empty. It returns the parameters.
func (t Template) Write(dir string, o Options) (params.Params, error) {
	if err := vacant(dir); err != nil {
		return params.Params{}, err
	}
	script, err := files.ReadFile(t.Name + "/train.py")
	if err != nil {
		return params.Params{}, err
	}
	p, err := t.params(o)
	if err != nil {
		return p, err
	}
	s := study{script: script, params: p, about: t.About, needs: t.Needs}
	if err := os.CopyFS(dir, trainer.Package()); err != nil { // the study needs no pip
		return p, err
	}
	if err := s.write(dir, filepath.Base(dir), o); err != nil {
		return p, err
	}
	return p, t.data(dir)
}

// params returns the study's parameters. Each participant has an equal share of the template's examples.
func (t Template) params(o Options) (params.Params, error) {
	s := t.study
	s.Examples /= o.Validators
	s.Rounds, s.Epsilon = cmp.Or(o.Rounds, s.Rounds), cmp.Or(o.Epsilon, s.Epsilon)
	s.Model.Clipping = cmp.Or(o.Clipping, s.Model.Clipping)
	p, err := preset.External(o.Validators, s)
	if err == nil && o.Batch > 0 {
		err = preset.SetBatch(&p, o.Batch)
	}
	p.Training.LearningRate = cmp.Or(o.LearningRate, p.Training.LearningRate)
	return p, err
}
