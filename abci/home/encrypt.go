package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"
	"github.com/cometbft/cometbft/config"
)

// MinPassphrase is the min length in bytes of a passphrase for a backup or for a home's keys.
const MinPassphrase = 12

// CheckPassphrase rejects a new passphrase that is shorter than MinPassphrase.
func CheckPassphrase(passphrase string) error {
	if len(passphrase) < MinPassphrase {
		return fmt.Errorf("the passphrase has %d bytes, want at least %d", len(passphrase), MinPassphrase)
	}
	return nil
}

// writeIdentity encrypts the home's age key with a passphrase, and writes the result to the
// keystore's file. After a crash that file is either the old file or the whole new file.
func (s *Keystore) writeIdentity(identity *age.X25519Identity, passphrase string) error {
	if err := CheckPassphrase(passphrase); err != nil {
		return err
	}
	to, err := scryptRecipient(passphrase)
	if err != nil {
		return err
	}
	data, err := encryptTo([]byte(identity.String()+"\n"), to)
	if err != nil {
		return err
	}
	again, err := openIdentity(s.file, data, passphrase)
	if err != nil {
		return err
	}
	if again.String() != identity.String() {
		return errors.New("the encrypted identity decrypts to another one: nothing is changed")
	}
	if err := replaceFile(s.file, data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity, s.identityErr = identity, nil
	return nil
}

// newIdentity makes the age key of a home, encrypts it with the passphrase, and writes it to
// config/identity.age. The caller has checked that the home has no such file.
func (s *Keystore) newIdentity(passphrase string) error {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	return s.writeIdentity(identity, passphrase)
}

// ChangePassphrase encrypts the home's age key with another passphrase. The key files do not change.
func (s *Keystore) ChangePassphrase(passphrase string) error {
	identity, err := s.unlock()
	if err != nil {
		return err
	}
	return s.writeIdentity(identity, passphrase)
}

// Encrypt encrypts the plain files among the key files of a home, and returns their names. If the home has no
// config/identity.age, Encrypt asks for a new passphrase. Each plain file is replaced in one step. So after a crash the
// home can start, although some keys may still be plain, and another call of Encrypt encrypts the rest.
func (s *Keystore) Encrypt(files []string, ask Passphrase) (done []string, err error) {
	encrypts, err := s.hasIdentity()
	if err != nil {
		return nil, err
	}
	plain, encrypted, err := divide(files)
	if err != nil {
		return nil, err
	}
	if !encrypts {
		if len(encrypted) > 0 { // a new age key could not decrypt it
			return nil, fmt.Errorf("%w: %s, and the home has no %s: restore it from a backup", ErrLocked, encrypted[0],
				s.file)
		}
		passphrase, err := ask()
		if err != nil {
			return nil, err
		}
		if err := s.newIdentity(passphrase); err != nil {
			return nil, err
		}
	} else if _, err := s.unlock(); err != nil {
		return nil, err
	}
	for _, file := range encrypted {
		if _, err := s.read(file); err != nil { // if the file cannot be decrypted, the home would not start
			return nil, err
		}
	}
	for _, file := range plain {
		data, err := s.read(file)
		if err != nil {
			return done, err
		}
		if err := s.write(file, data); err != nil {
			return done, err
		}
		done = append(done, file)
	}
	return done, removeLeftovers(files)
}

// divide returns the plain and the encrypted files among the given ones.
func divide(files []string) (plain, encrypted []string, err error) {
	for _, file := range files {
		is, err := IsEncrypted(file)
		switch {
		case err != nil:
			return nil, nil, err
		case is:
			encrypted = append(encrypted, file)
		default:
			plain = append(plain, file)
		}
	}
	return plain, encrypted, nil
}

// temporaryPattern matches the temporary files of replaceFile, which remain if the process is killed.
const temporaryPattern = "write-file-atomic-*"

// removeLeftovers removes the temporary files that killed processes left in the folders of key
// files. A temporary file may hold a plain key.
func removeLeftovers(files []string) (err error) {
	var folders []string
	for _, file := range files {
		folders = append(folders, filepath.Dir(file))
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		left, globErr := filepath.Glob(filepath.Join(folder, temporaryPattern))
		err = errors.Join(err, globErr)
		for _, path := range left {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// Decrypt replaces the encrypted key files of a home by plain files, and returns their names. It
// removes config/identity.age last, so that another call of Decrypt can continue after a crash.
func (s *Keystore) Decrypt(files []string) (done []string, err error) {
	encrypts, err := s.hasIdentity()
	if err != nil || !encrypts {
		return nil, errors.Join(err, fmt.Errorf("the home has no %s: its keys are not encrypted", s.file))
	}
	if _, err := s.unlock(); err != nil {
		return nil, err
	}
	_, encrypted, err := divide(files)
	if err != nil {
		return nil, err
	}
	plain := make([][]byte, len(encrypted))
	for i, file := range encrypted { // all files are read before one is written
		if plain[i], err = s.read(file); err != nil {
			return nil, err
		}
	}
	for i, file := range encrypted {
		if err := replaceFile(file, plain[i]); err != nil {
			return done, err
		}
		done = append(done, file)
	}
	if err := errors.Join(os.Remove(s.file), SyncFolder(s.file)); err != nil {
		return done, err
	}
	return done, removeLeftovers(files)
}

// KeyFiles returns the existing key files of a home: the files of the node, of the validator, and
// of the participant or a worker group, with the next and former keys of rotations.
func KeyFiles(c *config.Config, a AppConfig) ([]string, error) {
	keys, err := filepath.Glob(InHome(c, a.Worker.KeyFile) + "*") // also FILE.next and FILE.*.old
	if IsWorkerGroup(c, a) {
		keys, err = filepath.Glob(filepath.Join(InHome(c, a.Worker.KeyFile), "*"))
	}
	if err != nil {
		return nil, err
	}
	for _, path := range []string{c.PrivValidatorKeyFile(), c.NodeKeyFile()} {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // the home of a worker group has no validator and no node
		}
		keys = append(keys, path)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// PlainKeys returns the plain key files of a home with config/identity.age. Such files exist if an encryption was
// interrupted, or if a file was added later. For a home without config/identity.age it returns none.
func PlainKeys(c *config.Config, a AppConfig) (plain []string, err error) {
	if encrypts, err := NewKeystore(c.RootDir, nil).hasIdentity(); err != nil || !encrypts {
		return nil, err
	}
	files, err := KeyFiles(c, a)
	if err != nil {
		return nil, err
	}
	plain, _, err = divide(files)
	return plain, err
}
