package templates

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/app/params"
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

// write writes a study under a name, beside the Python package that its trainer imports.
func (s study) write(dir, name string, o Options) error {
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

func manifest(o Options) string {
	sites := ""
	if len(o.Sites) > 0 {
		sites = "sites = " + strings.ReplaceAll(fmt.Sprintf("%q", o.Sites), `" "`, `", "`) + "\n"
	}
	return fmt.Sprintf(`# A localnet of this study: spdl-lab testnet start --manifest net.toml
validators = %d
params = "params.json"
trainer = [%q, "train.py"]
%s%s`, o.Validators, o.Python, sites, o.patience)
}

func (s study) readme(name string, o Options) string {
	constants := ""
	if HasConstants(s.params.Model) {
		constants = "- " + WeightsFile + " has the model's constants and what its tensors begin with; the chain has what\n" +
			"  training adds. Every member needs the file beside train.py. Merge an exported model with it before you\n" +
			"  load it: python3 -m spdl_trainer merge MODEL " + WeightsFile + " --out merged.safetensors\n"
	}
	return fmt.Sprintf(`# %s: %s

Needs %s. Run it on four validators of this machine, or as many as net.toml says:

    spdl trainer check %s train.py --parts %d    # does the trainer keep its promises?
    spdl-lab testnet start --manifest net.toml       # %d rounds, epsilon %g

- train.py is the trainer, and spdl_trainer the package that speaks with SPDL.
%s- params.json is the chain's: tensors, clipping (%q), rounds, learning rate, noise. Another number
  of validators, rounds or epsilon changes the noise: spdl new --validators N --epsilon E.
  Once train.py is what the members agreed on, spdl trainer hash . --params params.json writes the
  hash of the code into it: then no worker runs other code.
- net.toml is a localnet on one machine, where all validators share one file, unless it has sites. Every member of a
  real chain has a file of its own and sets worker.trainer in app.toml: see docs/MODELS.md of SPDL.
`, name, s.about, s.needs, o.Python, o.Validators, s.params.Training.Rounds, s.params.Privacy.Epsilon, constants,
		s.params.Model.Clipping)
}
