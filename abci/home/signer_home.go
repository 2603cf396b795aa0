package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/internal/newfile"
)

// partSuffix is the suffix of the name of a signer's home until the home is complete.
const partSuffix = ".part"

// SignerMove describes a move of a participant's keys and journal from a node's home to a signer's home.
type SignerMove struct {
	Dir     string       // the path of the signer's home, which must not exist
	Signer  SignerConfig // the settings of the signer's home
	Address string       // the address at which the node's worker connects to the signer
}

// MoveToSigner moves the participant's keys and journal from a node's home to a new signer's home. The node must be
// stopped. At no time could both the node and the signer start with the keys: the new home gets its final name only
// after the node's app.toml has the signer's address, and a node with both an address and keys does not start. If a
// crash interrupts MoveToSigner, another call continues.
func MoveToSigner(c *config.Config, a AppConfig, s *Keystore, m SignerMove) error {
	file, journal := InHome(c, a.Worker.KeyFile), InHome(c, a.Worker.Journal)
	if a.IsRelay() || IsWorkerGroup(c, a) {
		return errors.New("this home is a relay's or a worker group's: a signer holds the keys of one participant")
	}
	switch _, err := os.Stat(file); {
	case err != nil && a.Worker.Signer != "":
		return fmt.Errorf("the keys of this home are at its signer, %s", a.Worker.Signer)
	case err != nil:
		return err
	}
	held, err := worker.Lock(journal)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = held.Close() }()
	if a.Worker.Signer == "" {
		if err := beginMove(c, a, s, m); err != nil {
			return err
		}
	}
	return endMove(c, a, m.Dir)
}

// beginMove makes the signer's home under a temporary name, and writes the signer's address to the node's app.toml.
func beginMove(c *config.Config, a AppConfig, s *Keystore, m SignerMove) error {
	if _, err := os.Lstat(m.Dir); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s exists already: a signer's home is a new one", m.Dir))
	}
	keys, err := s.LoadKeys(InHome(c, a.Worker.KeyFile))
	if err != nil {
		return err
	}
	part := m.Dir + partSuffix
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	for _, folder := range []string{"config", "data"} {
		if err := os.MkdirAll(filepath.Join(part, folder), 0o700); err != nil {
			return err
		}
	}
	own := DefaultAppConfig()
	own.Worker.Enabled, own.Signer, own.Proposal = false, m.Signer, a.Proposal // proposal.wait must fit config.toml
	if err := errors.Join(own.Validate(), own.WriteFile(part)); err != nil {
		return err
	}
	if err := copyParticipant(c, a, own.Worker, part); err != nil {
		return err
	}
	if signer.NeedsCertificates(m.Address) {
		if err := signer.MakePair(InHome(c, a.Worker.SignerCerts), filepath.Join(part, m.Signer.Certificates)); err != nil {
			return err
		}
	}
	if err := writePublic(publicFile(c), ParticipantWith(keys).PublicKeys); err != nil {
		return err
	}
	_, err = Set(c.RootDir, "worker.signer", m.Address)
	return err
}

// copyParticipant copies to the folder part a participant's current, next and former keys, the
// journal, and the other files that commands on keys read.
func copyParticipant(c *config.Config, a AppConfig, to WorkerConfig, part string) error {
	files, err := filepath.Glob(InHome(c, a.Worker.KeyFile) + "*")
	if err != nil {
		return err
	}
	names := map[string]string{InHome(c, a.Worker.Journal): to.Journal, c.GenesisFile(): "config/genesis.json",
		filepath.Join(c.RootDir, "config", "config.toml"): "config/config.toml",
		IdentityFile(c.RootDir):                           "config/identity.age"}
	base := filepath.Base(a.Worker.KeyFile)
	for _, file := range files {
		names[file] = to.KeyFile + filepath.Base(file)[len(base):]
	}
	for from, name := range names {
		if err := copySecret(from, filepath.Join(part, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copySecret copies a file to a new file with mode 0600, and syncs the new file to the disk.
func copySecret(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(newfile.WriteMode(to, data, 0o600), SyncFolder(to))
}

// endMove gives the signer's home its final name, and removes the keys and the journal from the node's home.
func endMove(c *config.Config, a AppConfig, to string) error {
	if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
		if err := os.Rename(to+partSuffix, to); err != nil {
			return fmt.Errorf("a move to a signer's home was cut off, and it is not %s: %w", to, err)
		}
		if err := SyncFolder(to); err != nil {
			return err
		}
	}
	file := InHome(c, a.Worker.KeyFile)
	files, err := filepath.Glob(file + "*")
	if err != nil {
		return err
	}
	kept := DefaultAppConfig().Worker.KeyFile
	for _, f := range files {
		if err := equalFiles(f, filepath.Join(to, kept+f[len(file):])); err != nil {
			return err
		}
	}
	for _, f := range append(files, InHome(c, a.Worker.Journal)) {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.Join(SyncFolder(file), SyncFolder(InHome(c, a.Worker.Journal)))
}

// equalFiles returns an error if two files differ.
func equalFiles(a, b string) error {
	first, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	second, err := os.ReadFile(b)
	if err == nil && string(first) != string(second) {
		err = fmt.Errorf("%s and %s differ: %s is another signer's home", a, b, filepath.Dir(filepath.Dir(b)))
	}
	return err
}
