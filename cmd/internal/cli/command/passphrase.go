package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/spdl/spdl/abci/home"
)

// Passphrase is the option for a passphrase. It names a file descriptor and not the passphrase itself, because other
// users of the machine can read arguments, and processes inherit the environment.
type Passphrase struct {
	fd   *int
	name string // of the flag
}

// passphraseFlag is the name of the flag of the passphrase of a home's keys, and of a backup's.
const passphraseFlag = "passphrase-fd"

// credential is the name of the systemd credential with the passphrase of a home's keys.
const credential = "spdl-passphrase"

// Flag declares a flag that names the file descriptor of a passphrase.
func (p *Passphrase) Flag(cmd *cobra.Command, name, usage string) {
	p.name = name
	Optional(cmd, &p.fd, name, usage)
}

// PassphraseFlag declares --passphrase-fd for a command that reads the home's keys by Keystore. It returns the command.
func PassphraseFlag(cmd *cobra.Command) *cobra.Command {
	new(Passphrase).Flag(cmd, passphraseFlag, "file descriptor with the passphrase of encrypted keys, one line (default: "+
		"the systemd credential "+credential+", else ask at the terminal)")
	return cmd
}

// EncryptFlag declares --encrypt, and --passphrase-fd, for a command that makes a home by InitHome.
func EncryptFlag(cmd *cobra.Command, encrypt *bool) {
	Flag(cmd, encrypt, "encrypt", false, "encrypt the keys with a passphrase from the start: none is ever plain "+
		"on the disk")
	PassphraseFlag(cmd)
}

// passphrase returns the option that PassphraseFlag declared.
func (r *Run) passphrase() Passphrase {
	p := Passphrase{name: passphraseFlag}
	if f := r.flags.Lookup(passphraseFlag); f != nil && f.Changed {
		if fd, err := strconv.Atoi(f.Value.String()); err == nil { // the flag has parsed it
			p.fd = &fd
		}
	}
	return p
}

// Keystore returns the keystore of the run's home. If a key is encrypted, it asks for the
// passphrase once: at --passphrase-fd, in the systemd credential, or at the terminal.
func (r *Run) Keystore() *home.Keystore {
	if r.keystore == nil {
		r.keystore = home.NewKeystore(r.Home, r.homePassphrase)
	}
	return r.keystore
}

// InitHome makes the run's home, with keys that are encrypted from the start if encrypt is set.
func (r *Run) InitHome(c *config.Config, a home.AppConfig, encrypt bool) (*home.Home, error) {
	if !encrypt {
		return home.Init(r.Home, c, a)
	}
	return home.InitEncrypted(r.Home, c, a, r.Keystore(), r.NewPassphrase)
}

// NewPassphrase returns a new passphrase for the home's keys.
func (r *Run) NewPassphrase() (string, error) {
	return r.passphrase().Read(r, "New passphrase of the keys", true)
}

func (r *Run) homePassphrase() (string, error) {
	p, folder := r.passphrase(), os.Getenv("CREDENTIALS_DIRECTORY")
	if p.fd != nil || folder == "" {
		return p.Read(r, "Passphrase of the keys", false)
	}
	data, err := os.ReadFile(filepath.Join(folder, credential))
	if errors.Is(err, os.ErrNotExist) {
		return p.Read(r, "Passphrase of the keys", false)
	}
	if err != nil {
		return "", fmt.Errorf("systemd credential %s: %w", credential, err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(line, "\r"), nil
}

// Read returns the passphrase from the file descriptor. Without one it asks at the terminal, twice
// for a new passphrase.
func (p Passphrase) Read(r *Run, prompt string, twice bool) (string, error) {
	if p.fd != nil {
		return p.firstLine(*p.fd)
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return "", Usage(fmt.Errorf("standard input is no terminal to ask for the %s at: name a file descriptor, as "+
			"--%s 4 4< FILE", strings.ToLower(prompt), p.name))
	}
	said, err := ask(r, in, prompt+": ")
	if err != nil || !twice {
		return said, err
	}
	again, err := ask(r, in, prompt+" again: ")
	if err == nil && again != said {
		err = errors.New("the two passphrases differ")
	}
	return said, err
}

// firstLine reads the first line of a file descriptor with which the program was started. The descriptors that the
// program has opened itself, as the runtime's epoll, are closed on exec.
func (p Passphrase) firstLine(fd int) (string, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if fd < 0 || err != nil || flags&unix.FD_CLOEXEC != 0 {
		return "", Usage(fmt.Errorf("file descriptor %d of the passphrase is not open: give it a file, as "+
			"--%s 4 4< FILE", fd, p.name))
	}
	f := os.NewFile(uintptr(fd), "passphrase")
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", fmt.Errorf("file descriptor %d of the passphrase: %w", fd, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func ask(r *Run, terminal int, prompt string) (string, error) {
	fmt.Fprint(r.Err, prompt)
	said, err := term.ReadPassword(terminal)
	fmt.Fprintln(r.Err)
	return string(said), err
}
