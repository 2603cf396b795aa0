package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// ErrCode means that a trainer's code is not approved, or cannot be hashed.
var ErrCode = errors.New("the trainer's code")

// These are the max number of files of a trainer's code, and the max sum of their sizes.
const (
	maxCodeFiles = 10_000
	maxCodeBytes = 1 << 30
)

// codeFormat is the first input of the hash of a trainer's code. The number in it changes when
// PROTOCOL.md changes the rules on the files to hash.
const codeFormat = "spdl trainer code 1\n"

// CodeFile is a file of a trainer's code.
type CodeFile struct {
	Path       string `json:"path"` // relative to the trainer's folder, with slashes
	Bytes      int64  `json:"bytes"`
	Executable bool   `json:"executable"`
}

// Code is the code of a trainer: the files in the trainer's folder that can be executed, by the
// rules of PROTOCOL.md.
type Code struct {
	Hash  string     `json:"hash"` // SHA-256 in hexadecimal
	Files []CodeFile `json:"files"`
	data  []string   // the files in the trainer's folder to which links of the copy lead
}

// suffixes are the suffixes of files that interpreters and linkers load.
var suffixes = []string{".py", ".so", ".sh", ".r", ".jl", ".js", ".lua", ".pl", ".rb"}

// isCode reports whether a file is code by its name (suffixes) or its mode (executable).
func isCode(name string, mode fs.FileMode) bool {
	name = strings.ToLower(name)
	return mode&0o111 != 0 || slices.Contains(suffixes, filepath.Ext(name)) || strings.Contains(name, ".so.")
}

// isSkipped reports whether a folder or a file is left out, because it is no code and no data of the trainer: a cache,
// a hidden folder such as .git, or a virtual environment, which belongs to the interpreter.
func isSkipped(path string, d fs.DirEntry) bool {
	if !d.IsDir() {
		return strings.HasSuffix(d.Name(), ".pyc")
	}
	_, err := os.Lstat(filepath.Join(path, "pyvenv.cfg"))
	return d.Name() == "__pycache__" || strings.HasPrefix(d.Name(), ".") || err == nil
}

// HashCode returns the code in a folder, with its hash.
func HashCode(folder string) (Code, error) { return copyCode(folder, "") }

// copyCode hashes the code in folder. If copyFolder is not empty, it also copies the hashed bytes
// to copyFolder, where data files become symbolic links.
func copyCode(folder, copyFolder string) (c Code, err error) {
	hash, total := sha256.New(), int64(0)
	hash.Write([]byte(codeFormat))
	// WalkDir visits the files of a folder in the order of their names, so the order is the same on every machine.
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		if isSkipped(path, d) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		in, mode, err := c.codeOrData(folder, path, filepath.Join(copyFolder, rel), d, copyFolder != "")
		if err != nil || in == nil {
			return err
		}
		defer in.Close()
		f := CodeFile{Path: filepath.ToSlash(rel), Executable: mode&0o111 != 0}
		f.Bytes, err = f.copyFile(in, filepath.Join(copyFolder, rel), copyFolder != "", hash, maxCodeBytes-total)
		total += f.Bytes
		if c.Files = append(c.Files, f); err == nil && len(c.Files) > maxCodeFiles {
			err = fmt.Errorf("%w in %s has more than %d files", ErrCode, folder, maxCodeFiles)
		}
		return err
	})
	if err == nil && len(c.Files) == 0 {
		err = fmt.Errorf("%w: %s holds none: code has one of the suffixes %v, or may be executed", ErrCode, folder, suffixes)
	}
	c.Hash = hex.EncodeToString(hash.Sum(nil))
	return c, err
}

// codeOrData opens path if it is a code file. If path is a folder or a data file, it returns a nil file. If withCopy is
// set, it also creates at copyPath the same folder, or a symbolic link to the data file, which it adds to c.data if
// that is in folder. It fails with ErrCode if path is a symbolic link to code or to a folder.
func (c *Code) codeOrData(folder, path, copyPath string, d fs.DirEntry, withCopy bool) (*os.File, fs.FileMode, error) {
	if d.IsDir() {
		if withCopy {
			return nil, 0, os.Mkdir(copyPath, 0o700)
		}
		return nil, 0, nil
	}
	info, err := os.Stat(path)
	link := d.Type()&fs.ModeSymlink != 0
	switch {
	case err != nil && link && !isCode(d.Name(), 0):
		return nil, 0, nil // a link to a missing file
	case err != nil:
		return nil, 0, err
	case link && (info.IsDir() || isCode(d.Name(), info.Mode())):
		return nil, 0, fmt.Errorf("%w: %s is a symbolic link to a folder or to code: put what it leads to in its place",
			ErrCode, path)
	case isCode(d.Name(), info.Mode()) && info.Mode().IsRegular():
		in, err := os.Open(path)
		return in, info.Mode(), err
	case withCopy && info.Mode().IsRegular() && !strings.HasPrefix(d.Name(), "."): // .Rprofile would be run
		data, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, 0, err
		}
		if rel, err := filepath.Rel(folder, data); err == nil && filepath.IsLocal(rel) {
			c.data = append(c.data, data) // a link that leads out of the folder makes nothing readable
		}
		return nil, 0, os.Symlink(data, copyPath)
	}
	return nil, 0, nil
}

// copyFile adds a file to the hash: a line with the file's mode, length and path, and then the content. If withCopy is
// set, copyFile also writes the content to copyPath. It fails if the file is larger than maxBytes.
func (f CodeFile) copyFile(file *os.File, copyPath string, withCopy bool, hash io.Writer, maxBytes int64,
) (int64, error) {
	if strings.ContainsFunc(f.Path, unicode.IsControl) || strings.ContainsRune(f.Path, unicode.ReplacementChar) {
		return 0, fmt.Errorf("%w: the name %q is no printable text", ErrCode, f.Path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return 0, err
	}
	if int64(len(content)) > maxBytes {
		return 0, fmt.Errorf("%w has more than %d bytes, with %s", ErrCode, int64(maxCodeBytes), f.Path)
	}
	letter, mode := "-", fs.FileMode(0o400)
	if f.Executable {
		letter, mode = "x", 0o500
	}
	fmt.Fprintf(hash, "%s %d %s\n", letter, len(content), f.Path)
	if _, err := hash.Write(content); err != nil || !withCopy {
		return int64(len(content)), err
	}
	return int64(len(content)), os.WriteFile(copyPath, content, mode)
}
