// Package newfile writes files that must not exist.
package newfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Check returns an error if a file exists: no command overwrites a file that a user names. A command
// that works long before it writes calls Check first.
func Check(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return exists(path)
}

func exists(path string) error {
	return fmt.Errorf("%s exists already, and nothing is overwritten: name another file, or remove it", path)
}

// Write writes a file that everybody may read, as WriteMode does.
func Write(path string, data []byte) error { return WriteMode(path, data, 0o644) }

// WriteMode writes a file, and syncs it. It fails if the file exists. After another error there is no file.
func WriteMode(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
