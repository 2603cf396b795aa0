package home

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/tempfile"
	"github.com/pelletier/go-toml/v2"

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
		if reflect.ValueOf(s.Value).Len() == 0 {
			return "[]" // and not null, which a list without elements may be
		}
		list, err := quote(s.Value)
		if err == nil {
			return list
		}
	}
	return fmt.Sprint(s.Value)
}

// Variable returns the name of the environment variable that overrides the key, such as SPDL_WORKER_ENABLED.
func (s Setting) Variable() string {
	if s.File == "app.toml" {
		return variable(appPrefix, s.Key)
	}
	return variable(cometPrefix, s.Key)
}

// These are the prefixes of the environment variables that override keys in app.toml and config.toml.
const (
	appPrefix   = "SPDL"
	cometPrefix = "CMT"
)

// variable returns the name of the environment variable for the given key: the prefix, and the key in upper case.
func variable(prefix, key string) string {
	return prefix + "_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// Stray returns a warning for each environment variable that has a prefix of this program's variables and belongs to no
// key and no flag. A warning has the nearest known names. environ has the form of os.Environ, and flags lists the names
// of the program's flags. Stray ignores variables that begin with SPDL_TEST_, which belong to the project's tests. For
// a command that runs a home, own lists its flags: a flag of another command alone may then stand where a key of
// config.toml was meant, as SPDL_MONIKER for CMT_MONIKER. own is nil for other commands. The warnings are sorted.
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
		field := value.Type().Field(i)
		name, options, _ := strings.Cut(cmp.Or(field.Tag.Get("toml"), field.Tag.Get("mapstructure")), ",")
		v := reflect.Indirect(value.Field(i))
		key := strings.Trim(section+"."+name, ".")
		switch {
		case name == "" && options != "squash", name == "-", name == "home", name == "root_dir", !v.IsValid():
			continue
		case v.Type() == reflect.TypeFor[Duration]():
			v = v.Field(0)
		case v.Kind() == reflect.Struct:
			all = appendSettings(all, file, key, v)
			continue
		}
		s := Setting{Key: key, File: file, Value: v.Interface(), kind: v.Type()}
		if d, ok := s.Value.(time.Duration); ok {
			s.Value = d.String()
		}
		all = append(all, s)
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

// Set changes the values of keys in config.toml and app.toml of the home in dir; pairs has each key and its value in
// turn. The rest of the files stays as it is, including comments and order. If a node with the new values would not
// start, Set writes nothing and returns an error that matches ErrConfig. It ignores the environment, because the files
// must be valid without it.
func Set(dir string, pairs ...string) (set []Setting, err error) {
	files, known := map[string][]byte{}, Settings(DefaultConfig(), DefaultAppConfig())
	for i := 0; i+1 < len(pairs); i += 2 {
		s, err := Find(known, pairs[i])
		if err != nil {
			return nil, err
		}
		literal, err := s.literal(pairs[i+1])
		if err != nil {
			return nil, configError{fmt.Errorf("%s: %w", s.File, err)}
		}
		if files[s.File] == nil {
			if files[s.File], err = readFile(dir, s.File); err != nil {
				return nil, err
			}
		}
		if files[s.File], err = replaceValue(files[s.File], s.Key, literal); err != nil {
			return nil, configError{fmt.Errorf("%s: %w", filepath.Join(dir, "config", s.File), err)}
		}
	}
	c, a, err := load(dir, func(dir, name string) ([]byte, error) {
		if doc := files[name]; doc != nil {
			return doc, nil
		}
		return readFile(dir, name)
	}, false)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		s, err := Find(Settings(c, a), pairs[i])
		if err == nil {
			err = checkStart(c, a, s.Key)
		}
		if err != nil {
			return nil, configError{fmt.Errorf("%s: %w", s.File, err)}
		}
		set = append(set, s)
	}
	for name, doc := range files {
		path := filepath.Join(dir, "config", name)
		info, err := os.Stat(path)
		if err == nil {
			err = tempfile.WriteFileAtomic(path, doc, info.Mode().Perm())
		}
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// checkStart rejects a value that Load takes, and with which the node does not start or does not get what the key
// names.
func checkStart(c *config.Config, a AppConfig, key string) error {
	switch key {
	case "db_backend":
		scratch, err := os.MkdirTemp("", "spdl-db-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(scratch) }()
		db, err := dbm.NewDB("check", dbm.BackendType(c.DBBackend), scratch)
		if err != nil {
			return fmt.Errorf("db_backend is %q: %w", c.DBBackend, err)
		}
		return db.Close()
	case "worker.data":
		_, err := os.Stat(a.Worker.Data)
		if _, inHome := os.Stat(InHome(c, a.Worker.Data)); err != nil && inHome != nil && !isEmbedded(a.Worker.Data) {
			return fmt.Errorf("worker.data is %q, want a file or folder: %w", a.Worker.Data, err)
		}
	case "priv_validator_laddr":
		host, _, err := net.SplitHostPort(strings.TrimPrefix(c.PrivValidatorListenAddr, "tcp://"))
		if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
			return fmt.Errorf("priv_validator_laddr is %q, want the address of one interface: the first client that connects "+
				"signs for the validator", c.PrivValidatorListenAddr)
		}
	}
	return nil
}

// checkComet rejects values with which CometBFT would not start, or would start without what they name.
func checkComet(c *config.Config) error {
	if _, err := cmtflags.ParseLogLevel(c.LogLevel, log.NewNopLogger(), "error"); err != nil {
		return fmt.Errorf("log_level is %q: %w", c.LogLevel, err)
	}
	if kind := c.TxIndex.Indexer; !slices.Contains([]string{"", "kv", "null", "psql"}, kind) {
		return fmt.Errorf(`tx_index.indexer is %q, want "kv", "null" or "psql"`, kind)
	}
	for _, at := range [][2]string{{"p2p.laddr", c.P2P.ListenAddress}, {"p2p.external_address", c.P2P.ExternalAddress},
		{"rpc.laddr", c.RPC.ListenAddress}, {"rpc.grpc_laddr", c.RPC.GRPCListenAddress},
		{"rpc.pprof_laddr", c.RPC.PprofListenAddress}, {"priv_validator_laddr", c.PrivValidatorListenAddr},
		{"instrumentation.prometheus_listen_addr", c.Instrumentation.PrometheusListenAddr}} {
		key, text := at[0], at[1]
		isSocket := strings.HasPrefix(text, "unix://") && !strings.HasPrefix(key, "p2p.")
		if text != "" && !isSocket && !isListenable(text) {
			return fmt.Errorf("%s is %q, want an address with a port from 0 to 65535, as tcp://127.0.0.1:26656", key, text)
		}
	}
	if hash := c.StateSync.TrustHash; hash != "" && !isHash(hash) {
		return fmt.Errorf("statesync.trust_hash is %q, want 64 hex digits", hash)
	}
	return cmp.Or(admission.CheckAddresses("p2p.persistent_peers", c.P2P.PersistentPeers),
		admission.CheckAddresses("p2p.seeds", c.P2P.Seeds))
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
	check := func(err error, want string) error {
		if err != nil {
			err = fmt.Errorf("%s is %q, want %s", s.Key, text, want)
		}
		return err
	}
	switch kind := s.kind.Kind(); {
	case s.kind == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(text); err != nil {
			return "", check(err, aDuration)
		}
		return quote(text)
	case kind == reflect.String:
		return quote(text)
	case kind == reflect.Bool:
		is, err := strconv.ParseBool(text)
		return strconv.FormatBool(is), check(err, "true or false")
	case kind == reflect.Slice && s.kind.Elem().Kind() != reflect.String:
		return "", fmt.Errorf("%s is a list of tables: change it in %s", s.Key, s.File)
	case kind == reflect.Slice:
		list, err := listOf(text)
		if err != nil {
			return "", check(err, `a JSON array of texts, as ["python3", "train.py"]`)
		}
		return quote(list)
	case kind == reflect.Float64:
		_, err := strconv.ParseFloat(text, 64)
		return text, check(err, "a number")
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		_, err := strconv.ParseUint(text, 10, 64)
		return text, check(err, "a whole number from 0 on")
	}
	_, err := strconv.ParseInt(text, 10, 64)
	return text, check(err, "a whole number")
}

// aDuration describes the values of a key that is a time.
const aDuration = "a duration, as 500ms or 2m"

// quote returns a text, or a list of texts, in JSON, which is also valid TOML.
func quote(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// replaceValue returns a copy of the TOML document doc in which the given key has the value literal. It works line by
// line, and rejects a value of several lines. If doc does not have the key, it is added at the end of its section.
func replaceValue(doc []byte, key, literal string) ([]byte, error) {
	at := strings.LastIndex(key, ".")
	section, name := key[:max(at, 0)], key[at+1:]
	lines := strings.SplitAfter(strings.TrimSuffix(string(doc), "\n")+"\n", "\n")
	current, end := "", -1 // the section of the line; the line behind the last one of the key's section
	if section == "" {
		end = 0
	}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "[") {
			header, _, _ := strings.Cut(text, "#")
			current = strings.Trim(header, "[] \t")
		}
		before, after, _ := strings.Cut(line, "=")
		switch {
		case current != section || text == "" || text[0] == '#':
		case strings.TrimSpace(before) == name:
			rest, ok := behindValue(after)
			if !ok {
				return nil, fmt.Errorf("%s has a value of several lines: change it there", key)
			}
			lines[i] = before + "= " + literal + rest
			return []byte(strings.Join(lines, "")), nil
		default:
			end = i + 1
		}
	}
	line := name + " = " + literal + "\n"
	if end < 0 {
		end, line = len(lines), "\n["+section+"]\n"+line
	}
	return []byte(strings.Join(slices.Insert(lines, end, line), "")), nil
}

// behindValue returns what follows a TOML value in its line, as a comment, and whether the value ends there.
func behindValue(text string) (rest string, ok bool) {
	for i := range len(text) + 1 {
		if i < len(text) && text[i] != '#' {
			continue
		}
		var parsed map[string]any
		if toml.Unmarshal([]byte("v = "+text[:i]), &parsed) == nil {
			return text[len(strings.TrimRight(text[:i], " \t\r\n")):], true
		}
	}
	return "", false
}
