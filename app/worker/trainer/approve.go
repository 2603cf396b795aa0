package trainer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// approvedCopy returns a configuration that runs a copy of the trainer's code, and what removes that copy. The copy
// ensures that the executed bytes are the hashed bytes. approvedCopy fails with ErrCode if the hash of the code is not
// in c.Approved. If c.Approved is empty, any code is allowed, and approvedCopy returns c.
func (c Config) approvedCopy() (_ Config, remove func() error, err error) {
	if len(c.Approved) == 0 {
		return c, func() error { return nil }, nil
	}
	given, err := sandbox.Find(c.Argv, c.Dir)
	if err != nil {
		return c, nil, err
	}
	folder := given.Folder
	to, remove, err := sandbox.Temporary("spdl-code-")
	if err != nil {
		return c, nil, err
	}
	code, err := copyCode(folder, to)
	if err == nil && !slices.Contains(c.Approved, code.Hash) {
		err = fmt.Errorf("%w in %s has the hash %s, approved is %s: put the approved code there, let the members approve "+
			"this one as model.trainer of an epoch, or list its hash in worker.trainers (spdl trainer hash prints it)",
			ErrCode, folder, code.Hash, strings.Join(c.Approved, " or "))
	}
	if err == nil {
		c, err = c.relocate(folder, to, code)
	}
	if err != nil {
		_ = remove()
	}
	return c, remove, err
}

// relocate returns the configuration for a copy of the code: every argument that is a file of the
// code becomes the path of its copy, and the trainer starts in the copy. Paths of data stay the same.
// The original of the code is not readable. Of its folder the trainer reads the data files alone.
// relocate fails with ErrCode if the trainer would run or read something else.
func (c Config) relocate(folder, copyFolder string, code Code) (Config, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, err
	}
	ours := 0
	c.Argv = slices.Clone(c.Argv)
	for i, word := range c.Argv {
		rel, path := relativeTo(folder, word, dir)
		switch {
		case rel == "" || i == 0 && !strings.ContainsRune(word, filepath.Separator):
		case code.has(rel):
			c.Argv[i] = filepath.Join(copyFolder, rel)
			ours++
		case i == 0 || !filepath.IsLocal(rel): // the trainer starts in another folder
			c.Argv[i] = path
		}
	}
	if ours == 0 {
		return c, fmt.Errorf("%w: no word of %q is a file of the code in %s: name the script, with a suffix of code or "+
			"executable", ErrCode, c.Argv, folder)
	}
	c.Sandbox.Read = slices.Clone(c.Sandbox.Read)
	for i, path := range c.Sandbox.Read {
		_, c.Sandbox.Read[i] = relativeTo(folder, path, dir)
	}
	if rel, _ := relativeTo(folder, dir, ""); filepath.IsLocal(rel) {
		c.Dir = filepath.Join(copyFolder, rel)
	}
	if err := c.checkRelocated(folder, code); err != nil {
		return c, err
	}
	c.Sandbox.Read = append(c.Sandbox.Read, code.data...)
	return c, nil
}

// checkRelocated fails with ErrCode if the program or its interpreter lies in the original folder of
// the code, or if the trainer may read the original.
func (c Config) checkRelocated(folder string, code Code) error {
	runs, err := sandbox.Find(c.Argv, c.Dir)
	if err != nil {
		return fmt.Errorf("%w in %s, when it is copied: %w", ErrCode, folder, err)
	}
	for _, path := range append([]string{runs.Path}, runs.Interpreter...) {
		if err := checkCopied(path, folder); err != nil {
			return err
		}
	}
	for _, path := range slices.Concat(runs.Interpreter, c.Sandbox.Read, []string{c.Share.Data}) {
		if err := code.checkOutside(folder, path); err != nil {
			return err
		}
	}
	return nil
}

// checkCopied fails with ErrCode if the program that will run, or the file to which it leads, lies in the original
// folder of the code, as the interpreter of a virtual environment, or a program that is found there by $PATH.
func checkCopied(program, folder string) error {
	at, _ := relativeTo(folder, filepath.Dir(program), "")
	real, _ := relativeTo(folder, program, "")
	if filepath.IsLocal(at) || filepath.IsLocal(real) {
		return fmt.Errorf("%w: its hash does not cover the program %s, which lies in its folder: make the virtual "+
			"environment outside of %s, and name its interpreter there", ErrCode, program, folder)
	}
	return nil
}

// checkOutside fails with ErrCode if path, which the trainer may read, holds a file of the code in
// folder: the trainer could run the original, which may have changed since it was hashed.
func (c Code) checkOutside(folder, path string) error {
	at, err := filepath.EvalSymlinks(path)
	for _, f := range c.Files {
		if rel, _ := relativeTo(at, filepath.Join(folder, f.Path), ""); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%w in %s lies in %s, all of which the trainer may read: move the data and what "+
				"worker.trainer_read names into folders without code", ErrCode, folder, path)
		}
	}
	return nil
}

// has reports whether the file with a path relative to the trainer's folder belongs to the code.
func (c Code) has(rel string) bool {
	return slices.ContainsFunc(c.Files, func(f CodeFile) bool { return f.Path == filepath.ToSlash(rel) })
}

// relativeTo returns the absolute form of a path that begins in dir, and the path from folder to the
// file to which it leads. If there is no such file, rel is "".
func relativeTo(folder, path, dir string) (rel, absolute string) {
	path = sandbox.From(dir, path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", path
	}
	rel, err = filepath.Rel(folder, real)
	if err != nil {
		return "", path
	}
	return rel, path
}

// existing returns the absolute form of a path of data that begins in dir: the trainer may start in a copy of its
// folder, and spdl_trainer looks for a relative path in the folder of the script. A name that is no file, which the
// trainer understands, stays as it is.
func existing(data, dir string) string {
	path, err := filepath.Abs(sandbox.From(dir, data))
	if _, missing := os.Stat(path); err != nil || missing != nil || data == "" {
		return data
	}
	return path
}
