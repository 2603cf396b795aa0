package home

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/internal/newfile"
)

// maxBackup is the max total size of a backup's files, in bytes.
const maxBackup = 64 << 20

// Backup writes the keys and the configuration of a home to a tar file that is encrypted by age with a passphrase
// (scrypt). It returns the names of the files, relative to the home. It leaves out the data folder: an old journal or
// priv_validator_state.json does not have the node's latest signatures, so a restored node could sign twice.
func Backup(w io.Writer, c *config.Config, a AppConfig, passphrase string) ([]string, error) {
	names, err := backupFiles(c, a)
	if err != nil {
		return nil, err
	}
	if err := CheckPassphrase(passphrase); err != nil {
		return nil, err
	}
	to, err := scryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	sealed, err := age.Encrypt(w, to)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(sealed)
	for _, name := range names {
		if err := addFile(archive, c.RootDir, name); err != nil {
			return nil, err
		}
	}
	return names, errors.Join(archive.Close(), sealed.Close())
}

// backupFiles lists those files of a home that exist and belong in a backup:
//
//   - the configuration, the genesis, the encrypted age key (identity.age), the log of consent, the
//     certificates and public keys for a signer, and the files of a founding that has not finished;
//   - the keys of the node, of the validator, and of the participant or of all participants of a worker
//     group, with the next and former keys of rotations.
func backupFiles(c *config.Config, a AppConfig) ([]string, error) {
	paths := []string{IdentityFile(c.RootDir), consentFile(c), publicFile(c)}
	for _, folder := range []string{a.Worker.SignerCerts, a.Signer.Certificates} {
		paths = append(paths, signer.Files(InHome(c, folder))...)
	}
	for _, name := range []string{"config.toml", "app.toml", "genesis.json"} {
		paths = append(paths, filepath.Join(c.RootDir, "config", name))
	}
	keys, err := KeyFiles(c, a)
	if err != nil {
		return nil, err
	}
	sent, err := filepath.Glob(filepath.Join(c.RootDir, "config", "founding", "*.json")) // unfinished founding
	if err != nil {
		return nil, err
	}
	needed := !a.IsRelay() && a.Worker.Signer == ""
	if _, err := os.Stat(InHome(c, a.Worker.KeyFile)); errors.Is(err, os.ErrNotExist) && needed {
		return nil, fmt.Errorf("worker.key_file is %q, and there is no such file", a.Worker.KeyFile)
	}
	var names []string
	for _, path := range slices.Concat(paths, keys, sent) {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // a file that this home does not need
		}
		name, err := filepath.Rel(c.RootDir, path)
		if err != nil || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s is outside of the home, and a backup takes what is in it: copy it by hand, or change "+
				"the key of the configuration that names it", path)
		}
		if data, err := filepath.Rel(c.DBDir(), path); err == nil && filepath.IsLocal(data) {
			return nil, fmt.Errorf("%s is in the data folder, of which a backup takes nothing: move it to config/", path)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func addFile(archive *tar.Writer, dir, name string) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o600,
		Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}

// Restore writes the files of a backup into a home and returns their names. It fails, and writes
// nothing, if one of the files or a data folder exists, or if the backup is damaged.
func Restore(r io.Reader, dir, passphrase string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		return nil, fmt.Errorf("%s has a data folder, whose priv_validator_state.json has the last signed height and whose "+
			"journal has the last gradient; a node on which these are older than what its keys have signed signs twice. If the "+
			"folder is the newest of these keys, keep it: restore into an empty home, and copy the missing key from there. "+
			"Otherwise move it away: spdl start makes an empty one, and catches up", dir)
	}
	from, err := scryptIdentities(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(r, from...)
	if errors.Is(err, errWork) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the file is no backup, or the passphrase is another: %w", err)
	}
	files, err := readBackup(plain)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the backup holds no file")
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, fmt.Errorf("%s exists already, and nothing is overwritten: name an empty home", filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		if err := restoreFile(filepath.Join(dir, name), files[name]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// readBackup returns the content of a backup's files by their names. It reads and authenticates the
// whole backup first, so that a damaged backup restores no file.
func readBackup(plain io.Reader) (map[string][]byte, error) {
	archive, files, bytes := tar.NewReader(plain), map[string][]byte{}, int64(0)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, plain) // reading to the end authenticates all bytes
			return files, err
		}
		if err != nil {
			return nil, err
		}
		name := filepath.FromSlash(header.Name)
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || strings.HasPrefix(header.Name, "data/") {
			return nil, fmt.Errorf("the backup holds %q, and only files of a home outside of its data folder are restored",
				header.Name)
		}
		if bytes += header.Size; bytes > maxBackup {
			return nil, fmt.Errorf("the files of the backup have more than %d bytes", maxBackup)
		}
		if files[name], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

// restoreFile writes a file of a backup with mode 0600.
func restoreFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return newfile.WriteMode(path, data, 0o600)
}
