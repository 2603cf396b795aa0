package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/testnet"
)

// rootCommand is the whole command line. Flags are also read from the
// environment, as SPDL_HOME for --home.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "spdl",
		Short:         "Blockchain-secured and privacy-preserving decentralised learning",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() }, // and so an unknown command is an error
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			viper.SetEnvPrefix("SPDL")
			viper.SetEnvKeyReplacer(strings.NewReplacer("-", "_", ".", "_"))
			viper.AutomaticEnv()
			if err := viper.BindPFlags(cmd.Flags()); err != nil {
				return err
			}
			if o := viper.GetString("output"); o != "text" && o != "json" {
				return usageError{fmt.Errorf("--output is %q, want text or json", o)}
			}
			return nil
		},
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	root.PersistentFlags().String("home", filepath.Join(home, ".spdl"), "folder of the node's configuration and data")
	root.PersistentFlags().StringP("output", "o", "text", "form of the output: text or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		initCommand(), startCommand(), workerCommand(), testnetCommand(), genesisCommand(), keysCommand(), txCommand(),
		showNodeIDCommand(), showValidatorCommand(), versionCommand(), statusCommand(), withProofs(queryCommand()),
		modelCommand(), verifyCommand(), planCommand(), resetCommand(), auditCommand(), topCommand(), experimentCommand(),
		reportCommand(), rulesCommand(), explorerCommand(),
	)
	wrapArgs(root)
	return addCobras(root)
}

// addCobras adds cobra's own commands, completion and help, which otherwise come
// when the root runs, and take any argument.
func addCobras(root *cobra.Command) *cobra.Command {
	known := func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 && found.HasSubCommands() {
			err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
		}
		if err != nil {
			return usageError{err}
		}
		return nil
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = nil
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			wrapArgs(cmd)
		case "help":
			cmd.Args = known
		}
	}
	return root
}

// wrapArgs makes wrong arguments of any command a usage error.
func wrapArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		var err error
		switch {
		case check != nil:
			err = check(c, args)
		case c.HasSubCommands() && len(args) > 0:
			err = fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
		default:
			err = cobra.NoArgs(c, args)
		}
		if err != nil {
			return usageError{err}
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}

// homeDir is --home.
func homeDir() string { return viper.GetString("home") }

// loadHome reads the configuration of --home.
func loadHome() (*config.Config, node.AppConfig, error) {
	c, a, err := node.Load(homeDir())
	if err != nil && testnet.Made(homeDir()) {
		return nil, a, fmt.Errorf("%s holds the homes of a localnet: name one of its nodes, as in --home %s", homeDir(), filepath.Join(homeDir(), "node0"))
	}
	return c, a, err
}

func asJSON() bool { return viper.GetString("output") == "json" }

// plain takes out of a foreign text what could drive a terminal: a node that is
// asked may answer anything.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// show prints a value: as JSON, or as text by the given function.
func show(w io.Writer, value any, text func(io.Writer) error) error {
	if !asJSON() && text != nil {
		return text(w)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}
