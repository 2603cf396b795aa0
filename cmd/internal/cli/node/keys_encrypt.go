package node

import (
	"fmt"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func keysEncrypt() *cobra.Command {
	return command.PassphraseFlag(command.New(&cobra.Command{
		Use:   "encrypt",
		Short: "Encrypt the home's key files with one passphrase",
		Long: `Encrypt the home's key files with one passphrase: of the participant or worker group, the validator and the
node, with the next and former keys of rotations. They keep their names, and are age files of
config/identity.age, which the passphrase opens (age -d -i config/identity.age FILE reads one as well). A run
that was cut off goes on when it is asked for again. The plain files are replaced, not overwritten: a file
system, an SSD or a snapshot may keep their old blocks. Where that matters, make the home with spdl init
--encrypt, or rotate the keys afterwards. A lost passphrase is lost with its keys.`,
		Example: "  spdl keys encrypt --home ./node",
	}, rewriting("make a backup: spdl backup; a node that runs goes on, and its next start asks for the passphrase",
		func(r *command.Run, files []string) ([]string, error) {
			done, err := r.Keystore().Encrypt(files, r.NewPassphrase)
			if err != nil {
				err = fmt.Errorf("%d of %d files were encrypted: %w", len(done), len(files), err)
			}
			return done, err
		})))
}

// rewriting returns the function of a command that rewrites the home's key files, and says what to do next.
func rewriting(next string, rewrite func(*command.Run, []string) ([]string, error)) func(*command.Run, []string) error {
	return command.AtHome(func(r *command.Run, c *config.Config, a home.AppConfig, _ []string) error {
		files, err := home.KeyFiles(c, a)
		if err != nil {
			return err
		}
		done, err := rewrite(r, files)
		if err != nil {
			return err
		}
		return r.Written(c.RootDir, done, next)
	})
}

func keysDecrypt() *cobra.Command {
	return command.PassphraseFlag(command.New(&cobra.Command{
		Use:     "decrypt",
		Short:   "Write the home's encrypted key files in plain again",
		Example: "  spdl keys decrypt --home ./node",
	}, rewriting("the keys are plain: a user who can read the files has them",
		func(r *command.Run, files []string) ([]string, error) { return r.Keystore().Decrypt(files) })))
}

func keysPasswd() *cobra.Command {
	var next command.Passphrase
	cmd := command.New(&cobra.Command{
		Use:   "passwd",
		Short: "Change the passphrase of the home's encrypted keys",
		Long: `Change the passphrase of the home's encrypted keys. It encrypts config/identity.age again and leaves the key
files as they are: an old copy of that file is still opened by the old passphrase, so if that became known,
rotate the keys (spdl tx rotate).`,
		Example: "  spdl keys passwd --home ./node",
	}, func(r *command.Run, _ []string) error {
		store := r.Keystore()
		if err := store.Unlock(); err != nil {
			return err
		}
		passphrase, err := next.Read(r, "New passphrase of the keys", true)
		if err != nil {
			return err
		}
		if err := store.ChangePassphrase(passphrase); err != nil {
			return err
		}
		return r.Written(r.Home, []string{home.IdentityFile(r.Home)}, "make a backup: spdl backup; change the systemd "+
			"credential, if there is one")
	})
	command.PassphraseFlag(cmd)
	next.Flag(cmd, "new-passphrase-fd", "file descriptor with the new passphrase, one line (default: ask at the terminal)")
	return cmd
}
