package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/internal/newfile"
)

// CheckOut returns an error if the file of a flag exists, because no command overwrites a file that a user names, or
// if its folder does not. With endings it is also CheckEnding. A command that works long before it writes calls it
// first.
func CheckOut(flag, path, what string, endings ...string) error {
	if len(endings) > 0 {
		if err := CheckEnding(flag, path, what, endings...); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--%s is %s, and there is no folder %s", flag, path, filepath.Dir(path))
	}
	return newfile.Check(path)
}

// WriteOut writes the file of a flag, which must not exist.
func WriteOut(path string, data []byte) error { return newfile.Write(path, data) }

// CheckEnding returns a UsageError if the name of a flag's file has an ending that is none of the given
// ones, as ".html". The text says what the file is. A name without an ending is right.
func CheckEnding(flag, path, what string, endings ...string) error {
	if ending := filepath.Ext(path); ending != "" && !slices.Contains(endings, strings.ToLower(ending)) {
		return Usage(fmt.Errorf("--%s is %s, want a name that ends in %s: %s", flag, path, strings.Join(endings, " or "),
			what))
	}
	return nil
}
