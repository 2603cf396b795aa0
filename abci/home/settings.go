package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/tempfile"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/internal/spelling"
)

// Setting is a key of config.toml or app.toml, in the form section.key, and its value.
type Setting struct {
	Key   string `json:"key"`
	File  string `json:"file"`
	Value any    `json:"value"` // a duration is a text, as "500ms"

	kind reflect.Type
}

// Settings returns all keys, in the order of the files, with their values in the configuration.
func Settings(c *config.Config, a AppConfig) (all []Setting) {
	all = appendSettings(nil, "app.toml", "", reflect.ValueOf(a))
	return appendSettings(all, "config.toml", "", reflect.ValueOf(c).Elem())
}

// String returns the value as text. A list becomes a JSON array.
func (s Setting) String() string {
	if s.kind.Kind() == reflect.Slice {
		list, err := quote(s.Value)
		if err == nil {
			return list
		}
	}
	return fmt.Sprint(s.Value)
}

// Variable returns the name of the environment variable that overrides the key, such as
// SPDL_WORKER_ENABLED.
func (s Setting) Variable() string {
	if s.File == "app.toml" {
		return variable(appPrefix, s.Key)
	}
	return variable(cometPrefix, s.Key)
}

// These are the prefixes of the environment variables that override keys in app.toml and
// config.toml.
const (
	appPrefix   = "SPDL"
	cometPrefix = "CMT"
)

// variable returns the name of the environment variable for the given key: the prefix, and the key
// in upper case.
func variable(prefix, key string) string {
	return prefix + "_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// Stray returns a warning for each environment variable that has a prefix of this program's
// variables and belongs to no key and no flag. A warning has the nearest known names. environ has
// the form of os.Environ, and flags lists the names of the program's flags. Stray ignores variables
// that begin with SPDL_TEST_, which belong to the project's tests. For a command that runs a home, own
// lists its flags: a flag of another command alone may then stand where a key of config.toml was
// meant, as SPDL_MONIKER for CMT_MONIKER. own is nil for other commands. The warnings are sorted.
func Stray(environ, flags, own []string) (warnings []string) {
	var known []string
	for _, s := range Settings(DefaultConfig(), DefaultAppConfig()) {
		known = append(known, s.Variable())
	}
	for _, flag := range flags {
		known = append(known, variable(appPrefix, flag))
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		isOurs := strings.HasPrefix(name, appPrefix+"_") && !strings.HasPrefix(name, appPrefix+"_TEST_")
		if (isOurs || strings.HasPrefix(name, cometPrefix+"_")) && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("the environment variable %s has no effect: no key and no flag has this "+
				"name%s", name, spelling.Suggest(name, known)))
			continue
		}
		rest, isApp := strings.CutPrefix(name, appPrefix+"_")
		key, isFlag := cometPrefix+"_"+rest, func(flag string) bool { return variable(appPrefix, flag) == name }
		if isApp && own != nil && !slices.ContainsFunc(own, isFlag) && slices.Contains(known, key) {
			warnings = append(warnings, fmt.Sprintf("the environment variable %s has no effect here: it is a flag of another "+
				"command; %s is the key of config.toml", name, key))
		}
	}
	slices.Sort(warnings)
	return warnings
}

func appendSettings(all []Setting, file, section string, value reflect.Value) []Setting {
	for i := range value.NumField() {
		name, options, _ := strings.Cut(value.Type().Field(i).Tag.Get("mapstructure"), ",")
		v := reflect.Indirect(value.Field(i))
		switch {
		case name == "" && options != "squash", name == "home", name == "root_dir":
		case v.Kind() == reflect.Struct:
			all = appendSettings(all, file, strings.Trim(section+"."+name, "."), v)
		default:
			value := v.Interface()
			if d, ok := value.(time.Duration); ok {
				value = d.String()
			}
			all = append(all, Setting{Key: strings.Trim(section+"."+name, "."), File: file, Value: value, kind: v.Type()})
		}
	}
	return all
}

// Find returns the setting that has the given key. If no setting in all has the key, Find fails
// with an error that matches ErrConfig.
func Find(all []Setting, key string) (Setting, error) {
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		known := make([]string, len(all))
		for i, s := range all {
			known[i] = s.Key
		}
		return Setting{}, configError{fmt.Errorf("there is no key %q%s in app.toml or config.toml (spdl config get lists "+
			"them)", key, spelling.Suggest(key, known))}
	}
	return all[i], nil
}

// Set changes the value of the given key in config.toml or app.toml of the home in dir. The rest of
// the file stays as it is, including comments and order. If Load would reject the new value, Set
// writes nothing and returns an error that matches ErrConfig. It ignores the environment, because
// the files must be valid without it.
func Set(dir, key, text string) (Setting, error) {
	s, err := Find(Settings(DefaultConfig(), DefaultAppConfig()), key)
	if err != nil {
		return s, err
	}
	literal, err := s.literal(text)
	if err != nil {
		return s, err
	}
	path := filepath.Join(dir, "config", s.File)
	before, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w (spdl init makes a home)", err)
	}
	if err != nil {
		return s, err
	}
	after, err := replaceValue(before, key, literal)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	c, a, err := loadWith(dir, s.File, after)
	if err != nil {
		return s, err
	}
	if err := checkAddress(key, text); err != nil {
		return s, configError{fmt.Errorf("%s: %w", s.File, err)}
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if err := tempfile.WriteFileAtomic(path, after, info.Mode().Perm()); err != nil {
		return s, err
	}
	return Find(Settings(c, a), key)
}

// checkAddress rejects an address, or a list of nodes, with which CometBFT would not start.
func checkAddress(key, text string) error {
	switch key {
	case "p2p.persistent_peers", "p2p.seeds":
		return admission.CheckAddresses(key, text)
	case "p2p.laddr", "p2p.external_address":
	case "rpc.laddr", "rpc.grpc_laddr", "rpc.pprof_laddr", "priv_validator_laddr",
		"instrumentation.prometheus_listen_addr":
		if strings.HasPrefix(text, "unix://") {
			return nil
		}
	default:
		return nil
	}
	if text != "" && !isListenable(text) {
		return fmt.Errorf("%s is %q, want an address with a port from 0 to 65535, as tcp://127.0.0.1:26656", key, text)
	}
	return nil
}

// loadWith returns the configuration that a home would have if one of its files had the given
// content.
func loadWith(dir, file string, content []byte) (*config.Config, AppConfig, error) {
	scratch, err := os.MkdirTemp("", "spdl-config-*")
	if err != nil {
		return nil, AppConfig{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := os.Mkdir(filepath.Join(scratch, "config"), 0o700); err != nil {
		return nil, AppConfig{}, err
	}
	for _, name := range []string{"config.toml", "app.toml"} {
		data := content
		if name != file {
			if data, err = os.ReadFile(filepath.Join(dir, "config", name)); err != nil {
				return nil, AppConfig{}, err
			}
		}
		if err := os.WriteFile(filepath.Join(scratch, "config", name), data, 0o600); err != nil {
			return nil, AppConfig{}, err
		}
	}
	return load(scratch, false)
}

// listOf parses a list: a JSON array, or texts separated by commas.
func listOf(text string) (list []string, err error) {
	switch {
	case strings.HasPrefix(text, "["):
		err = json.Unmarshal([]byte(text), &list)
	case text != "":
		return strings.Split(text, ","), nil
	default:
		list = []string{}
	}
	return list, err
}

// literal parses text as a value of the setting, and returns the value in TOML. The text of a list
// is a JSON array, or texts separated by commas.
func (s Setting) literal(text string) (string, error) {
	wrong := func(want string) error {
		return configError{fmt.Errorf("%s is %q, want %s", s.Key, text, want)}
	}
	switch kind := s.kind.Kind(); {
	case s.kind == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(text); err != nil {
			return "", wrong(allowedValues["time"])
		}
		return quote(text)
	case kind == reflect.String:
		return quote(text)
	case kind == reflect.Bool:
		if text != "true" && text != "false" {
			return "", wrong(allowedValues["bool"])
		}
		return text, nil
	case kind == reflect.Slice && s.kind.Elem().Kind() != reflect.String:
		return "", configError{fmt.Errorf("%s is a list of tables: change it in %s", s.Key, s.File)}
	case kind == reflect.Slice:
		list, err := listOf(text)
		if err != nil {
			return "", wrong(`a JSON array of texts, as ["python3", "train.py"]`)
		}
		return quote(list)
	case kind == reflect.Float64:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", wrong(allowedValues["float64"])
		}
		return text, nil
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return "", wrong(allowedValues["int"])
	}
	return n.String(), nil
}

// quote returns a text, or a list of texts, in JSON, which is also valid TOML.
func quote(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// replaceValue returns a copy of the TOML document doc in which the given key has the value
// literal. If doc does not have the key, replaceValue adds the key at the end of the key's section.
func replaceValue(doc []byte, key, literal string) ([]byte, error) {
	section, name := "", key
	if dot := strings.LastIndex(key, "."); dot >= 0 {
		section, name = key[:dot], key[dot+1:]
	}
	var p unstable.Parser
	p.Reset(doc)
	// current is the section of the expression that the parser has read last. end is the offset of the
	// end of the key's section, -1 if the parser has not found that section.
	current, end := "", -1
	if section == "" {
		end = 0
	}
	for p.NextExpression() {
		e := p.Expression()
		path, after := keyOf(e)
		switch {
		case e.Kind == unstable.Table:
			current = path
			if current == section {
				end = lineEnd(doc, after)
			}
		case e.Kind == unstable.KeyValue && strings.Trim(current+"."+path, ".") == key:
			from, to := valueSpan(&p, doc, e.Value(), after)
			return slices.Concat(doc[:from], []byte(literal), doc[to:]), nil
		case e.Kind == unstable.KeyValue && current == section:
			_, to := valueSpan(&p, doc, e.Value(), after)
			end = lineEnd(doc, to)
		}
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	line := name + " = " + literal + "\n"
	if end < 0 {
		end, line = len(doc), "\n["+section+"]\n"+line
	}
	return slices.Concat(doc[:end], []byte(line), doc[end:]), nil
}

// keyOf returns the dotted key of an expression, and the offset of the key's end.
func keyOf(e *unstable.Node) (path string, end int) {
	var parts []string
	for keys := e.Key(); keys.Next(); {
		parts = append(parts, string(keys.Node().Data))
		end = int(keys.Node().Raw.Offset + keys.Node().Raw.Length)
	}
	return strings.Join(parts, "."), end
}

// valueSpan returns the offsets at which a value begins and ends in the document. keyEnd is the
// offset of the end of the value's key.
func valueSpan(p *unstable.Parser, doc []byte, v *unstable.Node, keyEnd int) (begin, end int) {
	begin = keyEnd + bytes.IndexByte(doc[keyEnd:], '=') + 1
	begin += len(doc[begin:]) - len(bytes.TrimLeft(doc[begin:], " \t"))
	return begin, valueEnd(p, doc, v, begin)
}

// valueEnd returns the offset of the end of the value v. The argument offset is at or before the
// beginning of v.
func valueEnd(p *unstable.Parser, doc []byte, v *unstable.Node, offset int) int {
	if v.Kind == unstable.Array {
		at := offset + bytes.IndexByte(doc[offset:], '[') + 1
		for elements := v.Children(); elements.Next(); {
			at = valueEnd(p, doc, elements.Node(), at)
		}
		return at + bytes.IndexByte(doc[at:], ']') + 1
	}
	raw := v.Raw
	if raw.Length == 0 { // booleans and numbers have no Raw
		raw = p.Range(v.Data)
	}
	return int(raw.Offset + raw.Length)
}

// lineEnd returns the offset of the end of the line that contains the given offset. The line's end
// is after its newline.
func lineEnd(doc []byte, offset int) int {
	if n := bytes.IndexByte(doc[offset:], '\n'); n >= 0 {
		return offset + n + 1
	}
	return len(doc)
}
