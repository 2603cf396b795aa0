package templates

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
)

// study holds what the folder of every study contains.
type study struct {
	script []byte // train.py
	params params.Params
	about  string
	needs  string
}

// vacant returns an error if a folder exists and is not empty.
func vacant(dir string) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty: name another folder", dir)
	}
	return nil
}

// write writes a study under a name, with the Python package that its trainer imports.
func (s study) write(dir, name string, o Options) error {
	if err := writePackage(dir); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s.params, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "train.py"), s.script, 0o755); err != nil {
		return err
	}
	for file, content := range map[string]string{
		"params.json": string(text) + "\n", "net.toml": manifest(o), "README.md": s.readme(name, o),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writePackage copies the Python package that speaks the protocol into a folder, so that a study
// needs no pip.
func writePackage(dir string) error {
	files := trainer.Package()
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
}

func manifest(o Options) string {
	return fmt.Sprintf(`# A localnet of this study: spdl-lab testnet start --manifest net.toml
validators = %d
params = "params.json"
trainer = [%q, "train.py"]
`, o.Validators, o.Python)
}

func (s study) readme(name string, o Options) string {
	return fmt.Sprintf(`# %s: %s

Needs %s. Run it on four validators of this machine, or as many as net.toml says:

    spdl trainer check %s train.py --parts %d    # does the trainer keep its promises?
    spdl-lab testnet start --manifest net.toml       # %d rounds, epsilon %g

- train.py is the trainer, and spdl_trainer the package that speaks with SPDL.
- params.json is the chain's: tensors, clipping (%q), rounds, learning rate, noise. Another number
  of validators, rounds or epsilon changes the noise: spdl new --validators N --epsilon E.
  Once train.py is what the members agreed on, spdl trainer hash . --params params.json writes the
  hash of the code into it: then no worker runs other code.
- net.toml is a localnet on one machine, where all validators share one file. Every member of a
  real chain has a file of its own and sets worker.trainer in app.toml: see docs/MODELS.md of SPDL.
`, name, s.about, s.needs, o.Python, o.Validators, s.params.Training.Rounds, s.params.Privacy.Epsilon,
		s.params.Model.Clipping)
}
