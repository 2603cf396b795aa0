package testnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/spelling"
	"github.com/spdl/spdl/krum/rules"
)

// manifestFile is the name of the manifest that Init writes into the folder of the homes.
const manifestFile = "manifest.toml"

// LoadManifest reads a manifest in TOML. The keys are those of the fields' tags; an unknown key is rejected.
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

// faultHead matches the line at which an attack or a perturbation begins, and ruleLine that of the rule.
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
				return fmt.Errorf("%s%w%s", here, err, spelling.Suggest(m.Rule, rules.Names()))
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

// manifestHead is the comment of a manifest that Init writes.
const manifestHead = `# The localnet in this folder, as spdl-lab testnet init made it. Changing the net
# here changes nothing; the perturbations are read at every start.
`

// save writes the manifest into its home.
func (m Manifest) save() error {
	path := filepath.Join(m.Home, manifestFile)
	m.Home = "" // where the file is
	keys, err := keysOf(reflect.ValueOf(m))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(manifestHead+keys), 0o666)
}

// keysOf returns the fields of a struct that are not zero as lines of TOML, and behind them its lists of structs.
func keysOf(of reflect.Value) (keys string, err error) {
	tables := ""
	for i := range of.NumField() {
		name, field := of.Type().Field(i).Tag.Get("mapstructure"), reflect.Indirect(of.Field(i))
		if name == "" || name == "-" || of.Field(i).IsZero() {
			continue
		}
		if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
			for k := range field.Len() {
				table, err := keysOf(field.Index(k))
				if err != nil {
					return "", err
				}
				tables += fmt.Sprintf("\n[[%s]]\n%s", name, table)
			}
			continue
		}
		value := field.Interface()
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		literal, err := json.Marshal(value) // JSON's texts, numbers and lists are TOML's too
		if err != nil {
			return "", err
		}
		keys += fmt.Sprintf("%s = %s\n", name, literal)
	}
	return keys + tables, nil
}
