package home

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/go-viper/mapstructure/v2"
	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/internal/spelling"
)

// ErrConfig means that a value in the configuration of a home, from its files or the environment, is invalid.
var ErrConfig = errors.New("configuration")

// configError is an error that matches ErrConfig but does not repeat the text of ErrConfig.
type configError struct{ error }

func (e configError) Is(target error) bool { return target == ErrConfig }
func (e configError) Unwrap() error        { return e.error }

// Load reads the configuration of a home: config.toml with CometBFT's environment variables (CMT_SECTION_KEY), and
// app.toml with this project's environment variables (SPDL_SECTION_KEY). It rejects an unknown key in app.toml, because
// a misspelt key would leave a default in force. It allows unknown keys in config.toml, as CometBFT does; CheckKeys
// finds them. Every error about a value matches ErrConfig.
func Load(dir string) (*config.Config, AppConfig, error) { return load(dir, readFile, true) }

// Within returns the subfolders of a folder that are homes, sorted by name. A localnet has such a folder.
func Within(dir string) (homes []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(sub, "config", "config.toml")); err == nil {
			homes = append(homes, sub)
		}
	}
	return homes
}

// CheckKeys returns an error about the keys in a home's config.toml that CometBFT does not have.
// CometBFT and Load ignore such a key, so a misspelt key leaves a default in force.
func CheckKeys(dir string) error {
	doc, err := readFile(dir, "config.toml")
	if err != nil {
		return err
	}
	unknown, err := readComet(dir, doc, DefaultConfig(), false)
	if err == nil && len(unknown) > 0 {
		err = configError{fmt.Errorf("%s: %s", filepath.Join(dir, "config", "config.toml"), strings.Join(unknown, "; "))}
	}
	return err
}

// setRoot makes a folder the root of a configuration, as an absolute path: InHome takes a relative one for a path in
// the home, and the sandbox would not find the home's secrets in a folder that the trainer may read.
func setRoot(c *config.Config, dir string) error {
	root, err := filepath.Abs(dir)
	if err == nil {
		c.SetRoot(root)
	}
	return err
}

// load returns the configuration in the files that read returns, which are those of the home in dir. It applies the
// environment's variables only if environment is set.
func load(dir string, read func(dir, name string) ([]byte, error), environment bool) (c *config.Config, a AppConfig,
	err error) {
	c, a = DefaultConfig(), DefaultAppConfig()
	doc, err := read(dir, "config.toml")
	if err == nil {
		_, err = readComet(dir, doc, c, environment)
	}
	if err != nil {
		return nil, a, err
	}
	if doc, err = read(dir, "app.toml"); err != nil {
		return nil, a, err
	}
	if err := readApp(dir, doc, &a, environment); err != nil {
		return nil, a, configError{err}
	}
	if err := setRoot(c, dir); err != nil {
		return nil, a, err
	}
	if c.Mempool.Type != config.MempoolTypeFlood {
		return nil, a, configError{fmt.Errorf("config.toml: mempool.type is %q, want %q: the application pools and "+
			"gossips transactions around CometBFT's mempool, and with another type none would reach it",
			c.Mempool.Type, config.MempoolTypeFlood)}
	}
	if err := cmp.Or(c.ValidateBasic(), checkComet(c)); err != nil { // CometBFT names a key trust_* trusted_*
		return nil, a, configError{fmt.Errorf("config.toml: %s", strings.ReplaceAll(err.Error(), "trusted_", "trust_"))}
	}
	if err := a.Validate(); err != nil {
		return nil, a, configError{fmt.Errorf("app.toml: %w", err)}
	}
	if a.IsRelay() && c.P2P.ListenAddress == "" {
		return nil, a, configError{fmt.Errorf("config.toml: p2p.laddr is empty, and node.role of app.toml is %q: members "+
			"dial a relay, so it needs an address to listen on", RoleRelay)}
	}
	if a.Proposal.Wait.Duration >= c.Consensus.TimeoutPropose {
		return nil, a, configError{fmt.Errorf("app.toml: proposal.wait is %v, want below consensus.timeout_propose of "+
			"config.toml, %v: the others would not wait for this node's proposals",
			a.Proposal.Wait, c.Consensus.TimeoutPropose)}
	}
	return c, a, nil
}

// DefaultRPC is the RPC address of a node whose config.toml has the default rpc.laddr.
const DefaultRPC = "tcp://127.0.0.1:26657"

// RPCAddress returns the RPC address of a home's node: rpc.laddr in config.toml, with a loopback
// address as the host if the node listens on every address. The rest of the home need not be valid.
func RPCAddress(dir string) (string, error) {
	c := DefaultConfig()
	doc, err := readFile(dir, "config.toml")
	if err == nil {
		_, err = readComet(dir, doc, c, true)
	}
	if err != nil {
		return "", err
	}
	if c.RPC.ListenAddress == "" {
		return "", errors.New(filepath.Join(dir, "config", "config.toml") + ": rpc.laddr is empty: the node serves no RPC")
	}
	return Reachable(c.RPC.ListenAddress), nil
}

// Reachable turns an address to listen on into one to connect to, with a loopback address for every address.
func Reachable(laddr string) string {
	scheme, at, ok := strings.Cut(laddr, "://")
	if !ok {
		scheme, at = "tcp", laddr
	}
	host, port, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + "://" + at
}

// readFile returns the content of a file in a home's folder config.
func readFile(dir, name string) ([]byte, error) {
	doc, err := os.ReadFile(filepath.Join(dir, "config", name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w (spdl init makes a home)", err)
	case err != nil:
		err = configError{err}
	}
	return doc, err
}

// readComet decodes config.toml of a home. With environment, variables override the file (Setting.Variable), and set
// keys that the file lacks. It returns a text about each key that CometBFT does not have.
func readComet(dir string, doc []byte, c *config.Config, environment bool) (unknown []string, err error) {
	path, v := filepath.Join(dir, "config", "config.toml"), viper.New()
	v.SetConfigFile(path)
	if err := v.ReadConfig(bytes.NewReader(doc)); err != nil {
		return nil, configError{SyntaxError(path, err)}
	}
	if environment {
		by, err := variables("config.toml", reflect.ValueOf(c).Elem())
		if err != nil {
			return nil, configError{err}
		}
		for _, s := range by {
			if err := v.BindEnv(s.Key, s.Variable()); err != nil {
				return nil, err
			}
		}
	}
	unknown, err = Decode(v, c)
	if err != nil {
		err = configError{fmt.Errorf("%s: %w", path, err)}
	}
	return unknown, err
}

// readApp decodes app.toml of a home, and overrides it by variables of the environment if environment is set.
func readApp(dir string, doc []byte, a *AppConfig, environment bool) error {
	if err := DecodeTOML(filepath.Join(dir, "config", "app.toml"), doc, a); err != nil || !environment {
		return err
	}
	by, err := variables("app.toml", reflect.ValueOf(a).Elem())
	for _, s := range by {
		if err == nil {
			err = DecodeTOML(s.Variable(), []byte(s.Key+" = "+s.Value.(string)), a)
		}
	}
	return err
}

// variables returns the settings of a file that variables of the environment override, with these values in TOML.
func variables(file string, target reflect.Value) (by []Setting, err error) {
	for _, s := range appendSettings(nil, file, "", target) {
		text := os.Getenv(s.Variable())
		if text == "" {
			continue
		}
		if s.Value, err = s.literal(text); err != nil {
			return nil, fmt.Errorf("%s: %w (by %s)", file, err, s.Variable())
		}
		by = append(by, s)
	}
	return by, nil
}

// Decode decodes what v has read into target, and returns a text about each key for which target has no field, with
// the nearest keys. The text of the error is a single line.
func Decode(v *viper.Viper, target any) (unknown []string, err error) {
	var keys mapstructure.Metadata
	err = v.Unmarshal(target, func(c *mapstructure.DecoderConfig) { c.Metadata = &keys })
	if err != nil {
		err = errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	slices.Sort(keys.Unused)
	for _, key := range keys.Unused {
		unknown = append(unknown, unknownKey(key, reflect.ValueOf(target).Elem()))
	}
	return unknown, err
}

func unknownKey(key string, target reflect.Value) string {
	var known []string
	for _, s := range appendSettings(nil, "", "", target) {
		known = append(known, s.Key)
	}
	return "unknown key " + key + spelling.Suggest(key, known)
}

// DecodeTOML decodes a TOML document into target, a pointer to a struct. It rejects unknown keys. Its error begins with
// the name of the document and has line and column.
func DecodeTOML(name string, doc []byte, target any) error {
	err := toml.NewDecoder(bytes.NewReader(doc)).DisallowUnknownFields().Decode(target)
	if unknown := new(toml.StrictMissingError); errors.As(err, &unknown) {
		first := &unknown.Errors[0]
		row, column := first.Position()
		return fmt.Errorf("%s, line %d, column %d: %s", name, row, column, unknownKey(strings.Join(first.Key(), "."),
			reflect.ValueOf(target).Elem()))
	}
	return SyntaxError(name, err)
}

// SyntaxError puts the name of a TOML file, line and column before an error of its decoder.
func SyntaxError(name string, err error) error {
	var at *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at):
		return fmt.Errorf("%s: %w", name, err)
	}
	row, column := at.Position()
	return fmt.Errorf("%s, line %d, column %d: %s", name, row, column, strings.TrimPrefix(at.Error(), "toml: "))
}
