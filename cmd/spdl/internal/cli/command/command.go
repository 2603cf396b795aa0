// Package command is what every command of the command line shares: its errors,
// the flags that many have, the home and the printed answer.
package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/cometbft/cometbft/config"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/testnet"
)

// UsageError is wrong use of the command line.
type UsageError struct{ error }

// Usage returns an error that is wrong use of the command line.
func Usage(err error) error { return UsageError{err} }

// QueryTimeout bounds one query.
const QueryTimeout = 10 * time.Second

// Group is a command that only holds others.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}

// Home is --home.
func Home() string { return viper.GetString("home") }

// LoadHome reads the configuration of --home.
func LoadHome() (*config.Config, node.AppConfig, error) {
	c, a, err := node.Load(Home())
	if err != nil && testnet.Made(Home()) {
		return nil, a, fmt.Errorf("%s holds the homes of a localnet: name one of its nodes, as in --home %s", Home(), filepath.Join(Home(), "node0"))
	}
	return c, a, err
}

// JSON reports whether -o json is asked for.
func JSON() bool { return viper.GetString("output") == "json" }

// Plain takes out of a foreign text what could drive a terminal: a node that is
// asked may answer anything.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Show prints a value: as JSON, or as text by the given function.
func Show(w io.Writer, value any, text func(io.Writer) error) error {
	if !JSON() && text != nil {
		return text(w)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// NodeFlag adds --node.
func NodeFlag(cmd *cobra.Command) {
	cmd.Flags().String("node", "tcp://127.0.0.1:26657", "RPC address of a node")
}

// LogAt is a logger to standard error: at a level, as "info", or at one for each
// module, as "app:info,*:error"; otherwise is the level of modules not named.
func LogAt(level, otherwise string) (log.Logger, error) {
	logger, err := cmtflags.ParseLogLevel(level, log.NewTMLogger(log.NewSyncWriter(os.Stderr)), otherwise)
	if err != nil {
		return nil, fmt.Errorf("log level %q: %w", level, err)
	}
	return logger, nil
}

// Timeout is --timeout.
func Timeout() (time.Duration, error) {
	d := viper.GetDuration("timeout")
	if d <= 0 {
		return d, Usage(fmt.Errorf("--timeout is %v, want above 0", d))
	}
	return d, nil
}

// CheckChainID is CometBFT's bound on --chain-id.
func CheckChainID(id string) error {
	if len(id) > types.MaxChainIDLen {
		return Usage(fmt.Errorf("--chain-id %q has %d bytes, at most %d", id, len(id), types.MaxChainIDLen))
	}
	return nil
}

// DecodeStrict decodes one JSON value without unknown fields.
func DecodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// ZeroFlags refuses 0 for flags of which a manifest takes 0 for the default.
func ZeroFlags(names ...string) error {
	for _, name := range names {
		if viper.IsSet(name) && viper.GetFloat64(name) == 0 {
			return fmt.Errorf("--%s is %v, want above 0, or leave it out for its default", name, viper.Get(name)) // of the environment, it may be no number
		}
	}
	return nil
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// NoDefault keeps the default of a flag out of its help, which says it in words.
func NoDefault(f *pflag.FlagSet, name string) { f.Lookup(name).DefValue = "0" }
