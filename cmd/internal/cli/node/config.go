package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Config returns the commands that show and change a home's configuration.
func Config() *cobra.Command {
	return command.Group("config", "Show and change the configuration of a home", configGet(), configSet())
}

func configGet() *cobra.Command {
	return command.New(&cobra.Command{
		Use:   "get [KEY]",
		Short: "Print the value of a key, as worker.data, or all keys with their values",
		Long: "Print the value of a key, as worker.data, or all keys with their values: those that the node takes, with " +
			"the defaults\n" +
			"of keys that the files lack, and with the environment.",
		Example: "  spdl config get --home ./node\n" +
			"  spdl config get worker.data",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: settingNames(),
	}, command.AtHome(func(r *command.Run, c *config.Config, a home.AppConfig, args []string) error {
		all := home.Settings(c, a)
		if len(args) == 0 {
			return r.Show(all, func(w io.Writer) {
				for _, s := range all {
					fmt.Fprintf(w, "%s = %v\n", s.Key, s)
				}
			})
		}
		s, err := home.Find(all, args[0])
		if err != nil {
			return asUsage(err)
		}
		return r.Show(s, command.Line(s.String()))
	}))
}

func configSet() *cobra.Command {
	return command.New(&cobra.Command{
		Use:   "set KEY VALUE [KEY VALUE ...]",
		Short: "Change keys in config.toml and app.toml; comments and order stay",
		Long: `Change keys in config.toml and app.toml; comments and order stay. The files are written only if a node would
start with all new values. A list is given with commas, as a,b, or as a JSON array. A node that runs reads
p2p.allowed_peers and p2p.members_only again within seconds, and takes other keys at its next start.`,
		Example: "  spdl config set worker.data /srv/patients.csv\n" +
			"  spdl config set explorer.enabled true --home ./node",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args)%2 != 0 {
				return fmt.Errorf("%d arguments, want a value for each key", len(args))
			}
			return nil
		},
		ValidArgs: settingNames(),
	}, func(r *command.Run, args []string) error {
		was := map[string]string{}
		if c, a, err := r.LoadHome(); err == nil {
			for _, s := range home.Settings(c, a) {
				was[s.Key] = fmt.Sprintf(" (it was %s)", cmp.Or(s.String(), "empty"))
			}
		}
		set, err := home.Set(r.Home, args...)
		if err != nil {
			return asUsage(err)
		}
		return r.Show(set, func(w io.Writer) {
			for _, s := range set {
				fmt.Fprintf(w, "%s = %v in %s%s\n", s.Key, s, s.File, was[s.Key])
			}
			for _, s := range set {
				when := "takes " + s.Key + " at its next start"
				if s.Key == "p2p.allowed_peers" || s.Key == "p2p.members_only" { // package admission
					when = "reads " + s.Key + " again within seconds"
				}
				fmt.Fprintln(w, "a node that runs "+when)
			}
		})
	})
}

// asUsage turns an error about a key or a value into a UsageError.
func asUsage(err error) error {
	if errors.Is(err, home.ErrConfig) {
		return command.Usage(err)
	}
	return err
}

// settingNames lists the keys, for completion and for suggestions.
func settingNames() (names []string) {
	for _, s := range home.Settings(home.DefaultConfig(), home.DefaultAppConfig()) {
		names = append(names, s.Key)
	}
	return names
}
