package node

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// loss lists the files that a reset removes and the files that it keeps.
type loss struct {
	Removed []string `json:"removed"`
	Kept    []string `json:"kept"`
}

// lossOf returns the loss of a home. The validator's record of its last signature is reset with the
// blocks, so it counts as removed.
func lossOf(c *config.Config, a home.AppConfig) loss {
	l := loss{Removed: []string{c.DBDir() + " (blocks, state, snapshots)"},
		Kept: []string{c.NodeKeyFile(), c.GenesisFile(), "config.toml and app.toml"}}
	if !a.IsRelay() {
		l.Removed = append(l.Removed, c.PrivValidatorStateFile()+" (what the validator signed last)",
			home.InHome(c, a.Worker.Journal)+" (the worker's journal)")
		l.Kept = append([]string{c.PrivValidatorKeyFile(), home.InHome(c, a.Worker.KeyFile)}, l.Kept...)
	}
	return l
}

// stateLossOf returns the loss of a home whose chain goes on: what other nodes have too.
func stateLossOf(c *config.Config, a home.AppConfig) loss {
	l := loss{
		Removed: []string{filepath.Join(c.DBDir(), "*.db") + " (blocks, state, snapshots)", c.Consensus.WalFile() +
			" (the write-ahead log)"},
		Kept: []string{c.NodeKeyFile(), c.GenesisFile(), "config.toml and app.toml"},
	}
	if !a.IsRelay() && a.Worker.Signer == "" {
		l.Kept = append([]string{home.InHome(c, a.Worker.Journal) + " (the worker's journal)",
			home.InHome(c, a.Worker.KeyFile)}, l.Kept...)
	}
	if !a.IsRelay() && c.PrivValidatorListenAddr == "" {
		l.Kept = append([]string{c.PrivValidatorStateFile() + " (what the validator signed last)",
			c.PrivValidatorKeyFile()}, l.Kept...)
	}
	return l
}

func (l loss) text(w io.Writer) {
	fmt.Fprintf(w, "removed  %s\nkept     %s\n", strings.Join(l.Removed, "\n         "),
		strings.Join(l.Kept, "\n         "))
}

// Reset returns the command unsafe-reset-all, named as CometBFT's.
func Reset() *cobra.Command {
	var yes bool
	cmd := command.New(&cobra.Command{
		Use:   "unsafe-reset-all",
		Short: "Remove blocks, state and journal; keys stay",
		Long: `Remove all blocks, the state and the worker's journal; keys and configuration stay. Without --yes nothing is
removed, and the files are named. Unsafe: on a chain that goes on, the validator may sign twice and the worker
may send a second gradient for a round; spdl reset-state is for such a chain. A new chain of the same keys
needs another chain id: otherwise a gradient of the old chain convicts its participant. Restoring a node does
not need it: a home with the old keys and without data/ catches up by itself.`,
		Example: "  spdl unsafe-reset-all --home ./node\n" +
			"  spdl unsafe-reset-all --home ./node --yes",
	}, command.AtHome(func(r *command.Run, c *config.Config, a home.AppConfig, _ []string) error {
		return lossOf(c, a).cause(r, yes, "On a chain that goes on the validator may then sign twice. Restoring a node "+
			"does not need it, and spdl reset-state keeps what was signed. If the chain is over, say --yes",
			func() error { return home.Reset(c, a) })
	}))
	command.Flag(cmd, &yes, "yes", false, "really remove it")
	return cmd
}

// ResetState returns the command reset-state, named as CometBFT's.
func ResetState() *cobra.Command {
	var yes, lastCopy bool
	cmd := command.New(&cobra.Command{
		Use:   "reset-state",
		Short: "Remove blocks and state; keep what the home has signed",
		Long: `Remove the databases and the write-ahead log of a stopped node, as of a home whose databases are damaged.
Without --yes nothing is removed, and the files are named.
The validator's last signature, the worker's journal, keys and configuration stay, so neither signs twice. The node
then syncs from its peers. A chain whose blocks no other node has cannot go on after it, so a chain with one
validator needs --last-copy too.`,
		Example: "  spdl reset-state --home ./node\n" +
			"  spdl reset-state --home ./node --yes",
	}, command.AtHome(func(r *command.Run, c *config.Config, a home.AppConfig, _ []string) error {
		return resetState(r, c, a, yes, lastCopy)
	}))
	command.Flag(cmd, &yes, "yes", false, "really remove it")
	command.Flag(cmd, &lastCopy, "last-copy", false, "also on a chain with one validator, whose blocks no other node may "+
		"have")
	return cmd
}

func resetState(r *command.Run, c *config.Config, a home.AppConfig, yes, lastCopy bool) error {
	why := "The node then syncs from its peers. If others have the blocks, say --yes"
	group := home.IsWorkerGroup(c, a)
	if !group && !a.IsRelay() && !lastCopy {
		n, err := home.CountValidators(c)
		switch {
		case err != nil:
			why = fmt.Sprintf("Whether another validator has the blocks is not known (%v). %s", err, why)
		case n == 1:
			yes = false
			why = "The chain has one validator, so this home may have the only copy of its blocks, and without them the " +
				"chain cannot go on. If another node has them, say --last-copy --yes; a new chain wants spdl unsafe-reset-all"
		}
	}
	return stateLossOf(c, a).cause(r, yes || group, why, func() error { return home.ResetState(c, a) })
}

// cause runs a reset and prints the loss. Without yes it returns a usage error with the loss and with what to consider.
func (l loss) cause(r *command.Run, yes bool, consider string, reset func() error) error {
	if !yes {
		return command.Usage(fmt.Errorf("this removes %s; it keeps %s. %s", strings.Join(l.Removed, ", "),
			strings.Join(l.Kept, ", "), consider))
	}
	if err := reset(); err != nil {
		return err
	}
	return r.Show(l, l.text)
}
