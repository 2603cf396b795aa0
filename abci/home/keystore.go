package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"
)

// ErrLocked means that a key is encrypted and could not be decrypted.
var ErrLocked = errors.New("key is encrypted")

// Passphrase returns the passphrase of a home's keys. A Keystore calls the function at most once.
type Passphrase func() (string, error)

// Keystore reads and writes the key files of a home, plain or encrypted. An encrypted home has an
// age key, the identity, in config/identity.age. The identity is encrypted with a passphrase
// (scrypt), and the key files are encrypted to the identity. So one passphrase, which is asked for
// once, decrypts all keys; a new passphrase changes only one file; and a rotation writes encrypted
// keys. Decrypted keys stay in memory. The zero value and nil read and write only plain files.
type Keystore struct {
	file string // the path of identity.age; empty for a keystore of plain files
	ask  Passphrase

	mu       sync.Mutex
	identity *age.X25519Identity // the decrypted identity; nil before the passphrase is given

	// identityErr is the error of the first attempt to decrypt the identity. All later callers get
	// it without a new question for the passphrase.
	identityErr error
}

// NewKeystore returns the keystore of a home. The keystore asks for the passphrase when it reads
// the first encrypted key.
func NewKeystore(dir string, ask Passphrase) *Keystore {
	return &Keystore{file: IdentityFile(dir), ask: ask}
}

// IdentityFile returns the path of identity.age in a home.
func IdentityFile(dir string) string { return filepath.Join(dir, "config", "identity.age") }

// encryptedPrefix is the beginning of every file that age has encrypted.
const encryptedPrefix = "age-encryption.org/v1\n"

// IsEncrypted reports whether a key file is encrypted.
func IsEncrypted(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, len(encryptedPrefix))
	switch _, err := io.ReadFull(f, head); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return false, nil
	case err != nil:
		return false, err
	}
	return string(head) == encryptedPrefix, nil
}

// read returns the content of a key file, and decrypts it if it is encrypted.
func (s *Keystore) read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(data), encryptedPrefix) {
		return data, err
	}
	identity, err := s.unlock()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	return decrypt(path, data, identity)
}

// decrypt decrypts data that are encrypted to an identity. The path is for errors, which wrap ErrLocked.
func decrypt(path string, data []byte, identity *age.X25519Identity) ([]byte, error) {
	plain, err := age.Decrypt(bytes.NewReader(data), identity)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("%w: %s is encrypted to another identity than this home's identity.age: put the "+
			"identity.age of its home beside it, or restore both from one backup", ErrLocked, path)
	}
	if err == nil {
		data, err = io.ReadAll(plain)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s is damaged: %w; restore it from a backup", ErrLocked, path, err)
	}
	return data, nil
}

// write writes a key file atomically and syncs it to the disk. It encrypts the content if the home has an identity.
func (s *Keystore) write(path string, data []byte) error {
	encrypts, err := s.hasIdentity()
	if err != nil {
		return err
	}
	if encrypts {
		identity, err := s.unlock()
		if err != nil {
			return err
		}
		if data, err = encrypt(data, identity); err != nil {
			return err
		}
	}
	return replaceFile(path, data)
}

// hasIdentity reports whether the home has an identity.
func (s *Keystore) hasIdentity() (bool, error) {
	if s == nil || s.file == "" {
		return false, nil
	}
	switch _, err := os.Stat(s.file); {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// encrypt encrypts data to an identity. It also decrypts the result and compares it with data,
// because the caller then replaces the plain file.
func encrypt(data []byte, identity *age.X25519Identity) ([]byte, error) {
	out, err := encryptTo(data, identity.Recipient())
	if err != nil {
		return nil, err
	}
	again, err := decrypt("the new file", out, identity)
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("the encrypted key decrypts to other bytes: nothing is changed")
	}
	return out, err
}

// encryptTo encrypts data to a recipient.
func encryptTo(data []byte, recipient age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipient)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unlock asks for the passphrase, unless the identity is already decrypted.
func (s *Keystore) Unlock() error {
	_, err := s.unlock()
	return err
}

// unlock returns the decrypted identity. The first call asks for the passphrase, and later calls
// return the same identity or error.
func (s *Keystore) unlock() (*age.X25519Identity, error) {
	if s == nil || s.file == "" {
		return nil, errors.New("this command takes plain keys alone")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.identity == nil && s.identityErr == nil {
		s.identity, s.identityErr = s.open()
	}
	return s.identity, s.identityErr
}

func (s *Keystore) open() (*age.X25519Identity, error) {
	data, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: without it no passphrase opens the keys: restore it from a backup, or name the home "+
			"of the keys", err)
	}
	if err != nil {
		return nil, err
	}
	if err := checkMode(s.file); err != nil {
		return nil, err
	}
	if s.ask == nil {
		return nil, errors.New("there is no passphrase")
	}
	passphrase, err := s.ask()
	if err != nil {
		return nil, err
	}
	return openIdentity(s.file, data, passphrase)
}

// checkMode rejects a file that users other than its owner can access.
func checkMode(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s has mode %#o, want 0600: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return err
}

// openIdentity decrypts the content of an identity's file with a passphrase.
func openIdentity(path string, data []byte, passphrase string) (*age.X25519Identity, error) {
	from, err := scryptIdentities(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(bytes.NewReader(data), from...)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("the passphrase does not open %s", path)
	}
	if errors.Is(err, errWork) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err == nil {
		data, err = io.ReadAll(plain)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it from a backup", path, err)
	}
	identity, err := age.ParseX25519Identity(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return identity, nil
}
