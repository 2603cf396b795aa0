package home

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/admission"
)

// ErrConfig means that a value in the configuration of a home, from its files or the environment,
// is invalid.
var ErrConfig = errors.New("configuration")

// configError is an error that matches ErrConfig but does not repeat the text of ErrConfig.
type configError struct{ error }

func (e configError) Is(target error) bool { return target == ErrConfig }
func (e configError) Unwrap() error        { return e.error }

// Load reads the configuration of a home: config.toml with CometBFT's environment variables
// (CMT_SECTION_KEY), and app.toml with this project's environment variables (SPDL_SECTION_KEY). It
// rejects an unknown key in app.toml, because a misspelt key would leave a default in force. It
// allows unknown keys in config.toml, as CometBFT does; CheckKeys finds them. Every error about a
// value matches ErrConfig.
func Load(dir string) (*config.Config, AppConfig, error) { return load(dir, true) }

// Within returns the subfolders of a folder that are homes, sorted by name. A localnet has such a
// folder.
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
	return readTOML(dir, "config.toml", "", DefaultConfig(), (*viper.Viper).UnmarshalExact)
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

// load reads a home as Load does. It applies the environment's variables only if environment is
// set.
func load(dir string, environment bool) (*config.Config, AppConfig, error) {
	c, a := DefaultConfig(), DefaultAppConfig()
	comet, own := cometPrefix, appPrefix
	if !environment {
		comet, own = "", ""
	}
	if err := readTOML(dir, "config.toml", comet, c, (*viper.Viper).Unmarshal); err != nil {
		return nil, a, err
	}
	if err := readTOML(dir, "app.toml", own, &a, (*viper.Viper).UnmarshalExact); err != nil {
		return nil, a, err
	}
	if err := setRoot(c, dir); err != nil {
		return nil, a, err
	}
	if c.Mempool.Type != config.MempoolTypeFlood {
		return nil, a, configError{fmt.Errorf("config.toml: mempool.type is %q, want %q: the application pools and "+
			"gossips transactions around CometBFT's mempool, and with another type none would reach it",
			c.Mempool.Type, config.MempoolTypeFlood)}
	}
	peers := admission.CheckAddresses("p2p.persistent_peers", c.P2P.PersistentPeers)
	if err := cmp.Or(c.ValidateBasic(), peers); err != nil {
		return nil, a, configError{fmt.Errorf("config.toml: %w", err)}
	}
	if err := a.Validate(); err != nil {
		return nil, a, configError{fmt.Errorf("app.toml: %w", err)}
	}
	if a.IsRelay() && c.P2P.ListenAddress == "" {
		return nil, a, configError{fmt.Errorf("config.toml: p2p.laddr is empty, and node.role of app.toml is %q: members "+
			"dial a relay, so it needs an address to listen on", RoleRelay)}
	}
	if a.Proposal.Wait >= c.Consensus.TimeoutPropose {
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
	if err := readTOML(dir, "config.toml", cometPrefix, c, (*viper.Viper).Unmarshal); err != nil {
		return "", err
	}
	scheme, at, ok := strings.Cut(c.RPC.ListenAddress, "://")
	if !ok {
		scheme, at = "tcp", c.RPC.ListenAddress
	}
	if at == "" {
		return "", errors.New(filepath.Join(dir, "config", "config.toml") + ": rpc.laddr is empty: the node serves no RPC")
	}
	host, port, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + "://" + at, nil
}

// readTOML decodes a file of a home into target. Environment variables with the given prefix
// override the values of the file (Setting.Variable). If prefix is "", no variable does.
func readTOML(dir, name, prefix string, target any,
	decode func(*viper.Viper, any, ...viper.DecoderConfigOption) error) error {
	path := filepath.Join(dir, "config", name)
	v := viper.New()
	v.SetConfigFile(path)
	if prefix != "" {
		for _, key := range appendSettings(nil, name, "", reflect.ValueOf(target).Elem()) {
			if err := v.BindEnv(key.Key, key.Variable()); err != nil { // binds keys that the file lacks, too
				return err
			}
		}
	}
	switch err := v.ReadInConfig(); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w (spdl init makes a home)", err)
	case err != nil:
		return configError{fmt.Errorf("%s%w", path, SyntaxError(err))}
	}
	if err := OneLine(decode(v, target), v, prefix, target); err != nil {
		return configError{fmt.Errorf("%s: %w", path, err)}
	}
	return nil
}

// OneLine turns the error of a TOML decoder, which has a heading and a line for each fault, into an
// error whose text is a single line.
//
//   - For a value of the wrong type, the text has the key, the value and the allowed values. If
//     an environment variable set the value, the text also has the variable's name, which begins
//     with prefix.
//   - For a key without a field in target, a pointer to a struct, the text has the line number of
//     the key in the file, and the nearest known key.
func OneLine(err error, v *viper.Viper, prefix string, target any) error {
	if err == nil {
		return nil
	}
	_, faults, ok := strings.Cut(err.Error(), ":\n\n")
	if !ok {
		return err
	}
	said := func(fault string) string {
		if m := unknownKeys.FindStringSubmatch(fault); m != nil {
			if strings.ContainsRune(m[1], '.') { // a Go type: the key stands above the first section
				m[1] = ""
			}
			return unknownKey(v.ConfigFileUsed(), m[1], strings.Split(m[2], ", "), target)
		}
		m := wrongType.FindStringSubmatch(fault)
		if m == nil {
			return fault
		}
		key, want := m[1], allowedValues[m[2]]
		if want == "" {
			return fault
		}
		section, last := "", key
		if at := strings.LastIndexByte(key, '.'); at >= 0 {
			section, last = key[:at], key[at+1:]
		}
		where := ""
		if line := lineOf(v.ConfigFileUsed(), section, last); line > 0 {
			where = fmt.Sprintf(", line %d", line)
		}
		if name := variable(prefix, key); prefix != "" && os.Getenv(name) != "" {
			key, where = fmt.Sprintf("%s (by %s)", key, name), ""
		}
		return fmt.Sprintf("%s is %q, want %s%s", key, v.GetString(m[1]), want, where)
	}
	lines := strings.Split(faults, "\n")
	for i := range lines {
		lines[i] = said(lines[i])
	}
	return errors.New(strings.Join(lines, "; "))
}

// SyntaxError rewords the error of a TOML file that does not parse. The new text has line, column
// and reason; the caller puts the name of the file before it.
func SyntaxError(err error) error {
	var at interface { // the TOML decoder's error
		error
		Position() (row, column int)
	}
	if !errors.As(err, &at) {
		return fmt.Errorf(": %w", err)
	}
	row, column := at.Position()
	return fmt.Errorf(", line %d, column %d: %s", row, column, strings.TrimPrefix(at.Error(), "toml: "))
}

// unknownKeys matches the decoder's text about keys for which the target has no field.
var unknownKeys = regexp.MustCompile(`^'([^']*)' has invalid keys: (.+)$`)

// wrongType matches the decoder's text about a value that does not parse.
var wrongType = regexp.MustCompile(`^'([^']+)' (?:cannot parse value as ')?(bool|u?int\d*|float\d*|time)[':]`)

// allowedValues describes, for each type, the values that a key of that type can have.
var allowedValues = map[string]string{
	"bool": "true or false", "time": "a duration, as 500ms or 2m", "int": "a whole number", "int64": "a whole number",
	"uint32": "a whole number from 0 to 4294967295", "uint64": "a whole number from 0 on", "float64": "a number",
}
