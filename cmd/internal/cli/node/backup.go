package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// passphrase is the option that names where a passphrase comes from. There is none for the
// passphrase itself: other users of the machine can read arguments, and processes inherit the
// environment.
type passphrase struct{ fd *int }

func (p *passphrase) flag(cmd *cobra.Command) {
	command.Optional(cmd, &p.fd, "passphrase-fd", "file descriptor to read the passphrase from, one line (default: ask "+
		"at the terminal)")
}

// read returns the passphrase, which is asked for twice at a terminal if a new one is made.
func (p passphrase) read(r *command.Run, twice bool) (string, error) {
	if p.fd != nil {
		f := os.NewFile(uintptr(*p.fd), "passphrase")
		if *p.fd < 0 || f == nil {
			return "", command.Usage(fmt.Errorf("--passphrase-fd is %d, want an open file descriptor", *p.fd))
		}
		defer f.Close()
		line, err := bufio.NewReader(f).ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			return "", fmt.Errorf("--passphrase-fd %d: %w", *p.fd, err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return "", command.Usage(errors.New("standard input is no terminal to ask for the passphrase at: name a file " +
			"descriptor, as --passphrase-fd 3 3< FILE"))
	}
	said, err := ask(r, in, "Passphrase: ")
	if err != nil || !twice {
		return said, err
	}
	again, err := ask(r, in, "Passphrase again: ")
	if err == nil && again != said {
		err = errors.New("the two passphrases differ")
	}
	return said, err
}

func ask(r *command.Run, terminal int, prompt string) (string, error) {
	fmt.Fprint(r.Err, prompt)
	said, err := term.ReadPassword(terminal)
	fmt.Fprintln(r.Err)
	return string(said), err
}

// notTaken says why a backup has no data folder.
const notTaken = "a restored journal or priv_validator_state.json is older than what the node has signed since, and " +
	"the node would sign twice"

type backupOptions struct {
	passphrase passphrase
	out        string
}

// Backup returns the command that writes a home's keys and configuration to an encrypted file.
func Backup() *cobra.Command {
	o := &backupOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "backup",
		Short: "Write the home's keys and configuration to an encrypted file; never its data",
		Long: "Write the home's keys and configuration to a file, a tar encrypted by age with a passphrase (age -d opens " +
			"it as well).\n" +
			"It has the keys of the participant or the worker group, the validator and the node, config.toml, app.toml and " +
			"genesis.json.\n" +
			"It never has data/: " + notTaken + ".\n" +
			"A home without data/ catches up by itself. Make a backup again after each rotation of keys.",
	}, o.run)
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist").Required()
	o.passphrase.flag(cmd)
	return cmd
}

func (o *backupOptions) run(r *command.Run, _ []string) error {
	c, a, err := r.LoadHome()
	if err != nil {
		return err
	}
	secret, err := o.passphrase.read(r, true)
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
	return r.Show(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "file       %s\nfiles      %s\nnot taken  %s: %s\n", made.File,
			strings.Join(names, "\n           "), made.NotTaken, made.Why)
		return err
	})
}

// Restore returns the command that makes a home of a backup.
func Restore() *cobra.Command {
	secret := &passphrase{}
	cmd := command.New(&cobra.Command{
		Use:   "restore FILE",
		Short: "Make a home of a backup; rejects a home that has data",
		Long: "Make a home of a backup, with --home DIR. Nothing is overwritten, and a home with a data folder is " +
			"rejected. First\n" +
			"make sure that the host whose keys these are is off for good: two nodes with the same keys sign twice.",
		Args: cobra.ExactArgs(1),
	}, secret.restore)
	secret.flag(cmd)
	return cmd
}

func (p *passphrase) restore(r *command.Run, args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	secret, err := p.read(r, false)
	if err != nil {
		return err
	}
	names, err := home.Restore(f, r.Home, secret)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	next := fmt.Sprintf("make sure that no other node has these keys, and then: spdl start --home %s; it fetches the "+
		"blocks, and its worker sits out the round that is open", r.Home)
	made := struct {
		Home  string   `json:"home"`
		Files []string `json:"files"`
		Next  string   `json:"next"`
	}{r.Home, names, next}
	return r.Show(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "home   %s\nfiles  %s\nnext   %s\n", made.Home, strings.Join(names, "\n       "), made.Next)
		return err
	})
}
