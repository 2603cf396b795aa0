package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// notTaken explains why a backup has no data folder.
const notTaken = "a restored journal or priv_validator_state.json is older than what the node has signed since, and " +
	"the node would sign twice"

// passphraseHelp is the help of the flag for a backup's passphrase, which need not be that of the home's keys.
const passphraseHelp = "file descriptor with the passphrase of the backup, one line (default: ask at the terminal)"

type backupOptions struct {
	passphrase command.Passphrase
	out        string
}

// Backup returns the command that writes a home's keys and configuration to an encrypted file.
func Backup() *cobra.Command {
	o := &backupOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "backup",
		Short: "Write the home's keys and configuration, encrypted",
		Long: "Write the home's keys and configuration to a file, a tar encrypted by age with a passphrase (age -d opens " +
			"it as well).\n" +
			"It has the keys of the participant or the worker group, the validator and the node, config.toml, app.toml and " +
			"genesis.json.\n" +
			"It never has data/: " + notTaken + ".\n" +
			"A home without data/ catches up by itself. Make a backup again after each rotation of keys.",
		Example: "  spdl backup --home ./node --out node.age",
	}, command.AtHome(o.run))
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist").Required()
	o.passphrase.Flag(cmd, "passphrase-fd", passphraseHelp)
	return cmd
}

func (o *backupOptions) run(r *command.Run, c *config.Config, a home.AppConfig, _ []string) error {
	if err := command.CheckOut("out", o.out, ""); err != nil {
		return err
	}
	secret, err := o.passphrase.Read(r, "Passphrase of the backup", true)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	names, err := home.Backup(f, c, a, secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(o.out))
	}
	made := struct {
		File     string   `json:"file"`
		Files    []string `json:"files"`
		NotTaken string   `json:"not_taken"`
		Why      string   `json:"why"`
	}{o.out, names, c.DBDir(), notTaken}
	return r.Show(made, func(w io.Writer) {
		fmt.Fprintf(w, "file       %s\nfiles      %s\nnot taken  %s: %s\n", made.File,
			strings.Join(names, "\n           "), made.NotTaken, made.Why)
	})
}

// Restore returns the command that makes a home of a backup.
func Restore() *cobra.Command {
	o := &backupOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "restore FILE",
		Short: "Make a home of a backup; rejects a home that has data",
		Long: `Make a home of a backup, with --home DIR. Nothing is overwritten, and a home with a data folder is rejected.
First make sure that the host whose keys these are is off for good: two nodes with the same keys sign twice.
The validator of the new home signs nothing until the chain has decided two blocks without it (spdl doctor).`,
		Example: "  spdl restore node.age --home ./node",
		Args:    cobra.ExactArgs(1),
	}, o.restore)
	o.passphrase.Flag(cmd, "passphrase-fd", passphraseHelp)
	return cmd
}

func (o *backupOptions) restore(r *command.Run, args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	secret, err := o.passphrase.Read(r, "Passphrase of the backup", false)
	if err != nil {
		return err
	}
	names, err := home.Restore(f, r.Home, secret)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return r.Written(r.HomeText, names, fmt.Sprintf("make sure that no other node has these keys, and then: spdl start "+
		"--home %s; it fetches the blocks, its validator signs nothing until the chain has decided %d blocks without it, "+
		"and its worker sits out the round that is open", r.HomeText, home.PauseBlocks))
}
