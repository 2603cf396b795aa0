package testnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/krum/rules"
)

// manifestFile is the name of the manifest that Init writes into the folder of the homes.
const manifestFile = "manifest.toml"

// LoadManifest reads a manifest in TOML. The keys are those of the fields' tags; an unknown key is
// rejected.
func LoadManifest(path string) (Manifest, error) {
	var m Manifest
	v := viper.New()
	v.SetConfigFile(path)
	v.SetConfigType("toml") // whatever its extension
	if err := v.ReadInConfig(); errors.Is(err, fs.ErrNotExist) {
		return m, err
	} else if err != nil {
		return m, home.SyntaxError("manifest "+path, err)
	}
	unknown, err := home.Decode(v, &m)
	if err == nil && len(unknown) > 0 {
		err = errors.New(strings.Join(unknown, "; "))
	}
	if err != nil {
		return m, fmt.Errorf("manifest %s: %w", path, err)
	}
	if err := m.place(path); err != nil {
		return m, err
	}
	return m, m.absolute(filepath.Dir(path))
}

// faultHead matches the line at which an attack or a perturbation begins, and ruleLine that of the
// rule.
var (
	faultHead = regexp.MustCompile(`^\s*\[\[\s*(attack|perturb)\s*\]\]`)
	ruleLine  = regexp.MustCompile(`^\s*rule\s*=`)
)

// place sets the place of each attack and perturbation to its line in the file, and checks the name
// of the rule, which has a line, too.
func (m *Manifest) place(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	attacks, perturbations := 0, 0
	for i, line := range strings.Split(string(text), "\n") {
		here, head := fmt.Sprintf("manifest %s, line %d: ", path, i+1), faultHead.FindStringSubmatch(line)
		switch {
		case head != nil && head[1] == "attack" && attacks < len(m.Attacks):
			m.Attacks[attacks].place = here
			attacks++
		case head != nil && head[1] == "perturb" && perturbations < len(m.Perturb):
			m.Perturb[perturbations].place = here
			perturbations++
		case ruleLine.MatchString(line) && m.Rule != "":
			if _, err := rules.Lookup(m.Rule); err != nil {
				return fmt.Errorf("%s%w", here, err)
			}
		}
	}
	return nil
}

// absolute resolves the relative paths of parameters, model, data and trainer against a folder.
func (m *Manifest) absolute(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, file := range []*string{&m.Params, &m.Model, &m.Data, &m.Schema} {
		if *file != "" && *file != home.EmbeddedData && !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
	}
	for i, file := range m.Sites {
		if !filepath.IsAbs(file) {
			m.Sites[i] = filepath.Join(dir, file)
		}
	}
	if len(m.Trainer) > 0 && !filepath.IsAbs(m.TrainerDir) {
		m.TrainerDir = filepath.Join(dir, m.TrainerDir)
	}
	return nil
}

var manifestTemplate = template.Must(template.New(manifestFile).Parse(
	`# The localnet in this folder, as spdl-lab testnet init made it. Changing the net
# here changes nothing; the perturbations are read at every start.
validators = {{ .Validators }}
{{- if .Relays }}
relays = {{ .Relays }}
{{- end }}
workers = {{ .Workers }}
{{- if .Params }}
params = {{ printf "%q" .Params }}
{{- else }}
preset = {{ printf "%q" .Preset }}
{{- end }}
{{- if .Trainer }}
trainer = [{{ range $i, $a := .Trainer }}{{ if $i }}, {{ end }}{{ printf "%q" $a }}{{ end }}]
trainer_dir = {{ printf "%q" .TrainerDir }}
{{- end }}
{{- if .Sandbox }}
sandbox = {{ printf "%q" .Sandbox }}
{{- end }}
{{- if .TrainerRead }}
trainer_read = [{{ range $i, $a := .TrainerRead }}{{ if $i }}, {{ end }}{{ printf "%q" $a }}{{ end }}]
{{- end }}
rounds = {{ .Rounds }}
rule = {{ printf "%q" .Rule }}
tolerance = {{ .Tolerance }}
{{- if .CommitReveal }}
commit_reveal = {{ .CommitReveal }}
{{- end }}
chain_id = {{ printf "%q" .ChainID }}
data = {{ printf "%q" .Data }}
{{- if .Sites }}
sites = [{{ range $i, $a := .Sites }}{{ if $i }}, {{ end }}{{ printf "%q" $a }}{{ end }}]
{{- end }}
{{- if .Label }}
label = {{ printf "%q" .Label }}
{{- end }}
{{- if .Schema }}
schema = {{ printf "%q" .Schema }}
{{- end }}
{{- if .Force }}
force = true
{{- end }}
{{- if .Group }}
group = {{ printf "%q" .Group }}
{{- end }}
{{- if .Model }}
model = {{ printf "%q" .Model }}
{{- end }}
{{- if .Examples }}
examples = {{ .Examples }}
{{- end }}
{{- if .Epsilon }}
epsilon = {{ .Epsilon }}
{{- end }}
{{- if .Batch }}
batch = {{ .Batch }}
{{- end }}
{{- if .LearningRate }}
learning_rate = {{ .LearningRate }}
{{- end }}
seed = {{ .Seed }}
partition = {{ printf "%q" .Partition }}
alpha = {{ .Alpha }}
step_delay = {{ printf "%q" .StepDelay.String }}
neighbours = {{ .Neighbours }}
gossip = {{ printf "%q" .Gossip }}
memory = {{ .Memory }}
{{- range .Attacks }}

[[attack]]
node = {{ .Node }}
kind = {{ printf "%q" .Kind }}
{{- end }}
{{- range .Zones }}

[[zone]]
name = {{ printf "%q" .Name }}
nodes = [{{ range $i, $k := .Nodes }}{{ if $i }}, {{ end }}{{ $k }}{{ end }}]
{{- end }}
{{- range .Routes }}

[[route]]
zones = [{{ range $i, $z := .Zones }}{{ if $i }}, {{ end }}{{ printf "%q" $z }}{{ end }}]
round_trip = {{ printf "%q" .RoundTrip.String }}
{{- if .Jitter }}
jitter = {{ printf "%q" .Jitter.String }}
{{- end }}
{{- with .Rate }}
rate = {{ . }}
{{- end }}
{{- end }}
{{- range .Perturb }}

[[perturb]]
node = {{ .Node }}
round = {{ .Round }}
after = {{ printf "%q" .After.String }}
action = {{ printf "%q" .Action }}
for = {{ printf "%q" .For.String }}
{{- with .Peers }}
peers = [{{ range $i, $k := . }}{{ if $i }}, {{ end }}{{ $k }}{{ end }}]
{{- end }}
{{- with .Way }}
way = {{ printf "%q" . }}
{{- end }}
{{- if .Delay }}
delay = {{ printf "%q" .Delay.String }}
{{- end }}
{{- if .Jitter }}
jitter = {{ printf "%q" .Jitter.String }}
{{- end }}
{{- with .Loss }}
loss = {{ . }}
{{- end }}
{{- with .Rate }}
rate = {{ . }}
{{- end }}
{{- if .Binary }}
binary = {{ printf "%q" .Binary }}
wrong = {{ printf "%q" .Wrong }}
heights = {{ .Heights }}
{{- end }}
{{- end }}
`))

// save writes the manifest into its home.
func (m Manifest) save() error {
	f, err := os.Create(filepath.Join(m.Home, manifestFile))
	if err != nil {
		return err
	}
	if err := manifestTemplate.Execute(f, m); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
