// Package templates holds the studies that spdl new writes: a trainer in Python, the
// parameters of a chain for it, and the manifest of a localnet that runs it.
package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/mnist"
)

//go:embed common numpy-csv sklearn pytorch-cnn
var files embed.FS

// Template is one study.
type Template struct {
	Name  string
	Needs string // beside Python
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
		Model: model(params.ClippingSum, `{"folder": "data"}`,
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

// Options are what of a study the user decides.
type Options struct {
	Validators int
	Rounds     uint64  // 0: the template's
	Epsilon    float64 // 0: the template's
	Clipping   string  // "": the template's
	Python     string
}

// Write writes a study to a folder, which must not exist or be empty. It returns the parameters.
func (t Template) Write(dir string, o Options) (params.Params, error) {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return params.Params{}, fmt.Errorf("%s is not empty: name another folder", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return params.Params{}, err
	}
	var script []byte
	for name, mode := range map[string]os.FileMode{"common/spdl_trainer.py": 0o644, t.Name + "/train.py": 0o755} {
		text, err := files.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, mode)
		}
		if err != nil {
			return params.Params{}, err
		}
		if strings.HasSuffix(name, "/train.py") {
			script = text
		}
	}
	p, err := t.params(o, script)
	if err != nil {
		return p, err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return p, err
	}
	for name, content := range map[string]string{
		"params.json": string(text) + "\n", "net.toml": manifest(o), "README.md": t.readme(dir, p, o),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return p, err
		}
	}
	return p, t.data(filepath.Join(dir))
}

// params returns the study's parameters; of examples that all have, each has a share.
func (t Template) params(o Options, script []byte) (params.Params, error) {
	s := t.study
	s.Examples /= o.Validators
	if o.Rounds > 0 {
		s.Rounds = o.Rounds
	}
	if o.Epsilon > 0 {
		s.Epsilon = o.Epsilon
	}
	if o.Clipping != "" {
		s.Model.Clipping = o.Clipping
	}
	hash := sha256.Sum256(script)
	s.Model.Trainer = hex.EncodeToString(hash[:])
	return preset.External(o.Validators, s)
}

func manifest(o Options) string {
	return fmt.Sprintf(`# A localnet of this study: spdl testnet start --manifest net.toml
validators = %d
params = "params.json"
trainer = [%q, "train.py"]
`, o.Validators, o.Python)
}

func (t Template) readme(dir string, p params.Params, o Options) string {
	name := filepath.Base(dir)
	return fmt.Sprintf(`# %s: %s

Needs %s. Run it on %s:

    spdl trainer check train.py --parts %d            # does the trainer keep its promises?
    spdl testnet start --manifest net.toml           # %d rounds, epsilon %g

- train.py is the model and the data: replace load, the gradients and evaluate by yours.
- params.json is the chain's: tensors, clipping (%q), rounds, learning rate, noise. Another number
  of validators, rounds or epsilon changes the noise: spdl new --validators N --epsilon E.
- net.toml is a localnet on one machine, where all validators share one file. Every member of a
  real chain has a file of its own and sets worker.trainer in app.toml: see docs/MODELS.md of SPDL.
`, name, t.About, t.Needs, "four validators of this machine, or as many as net.toml says", o.Validators,
		p.Training.Rounds, p.Privacy.Epsilon, p.Model.Clipping)
}
