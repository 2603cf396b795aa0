package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CheckNew returns an error if a file exists: a command overwrites no file that a flag names. A command
// that works long before it writes calls CheckNew first.
func CheckNew(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return fmt.Errorf("%s exists already, and nothing is overwritten: name another file, or remove it", path)
}

// WriteNew writes a file that must not exist. After an error there is no file.
func WriteNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return CheckNew(path)
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

// CheckEnding returns a UsageError if the name of a flag's file has an ending that is none of the given
// ones, as ".html". The text says what the file is. A name without an ending is right.
func CheckEnding(flag, path, what string, endings ...string) error {
	if ending := filepath.Ext(path); ending != "" && !slices.Contains(endings, strings.ToLower(ending)) {
		return Usage(fmt.Errorf("--%s is %s, want a name that ends in %s: %s", flag, path, strings.Join(endings, " or "),
			what))
	}
	return nil
}
