package trainer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// approvedCopy returns a configuration that runs a copy of the trainer's code, and the folder of
// that copy, which the caller removes. The copy ensures that the executed bytes are the hashed
// bytes. approvedCopy fails with ErrCode if the hash of the code is not in c.Approved. If
// c.Approved is empty, any code is allowed, and approvedCopy returns c and no folder.
func (c Config) approvedCopy() (Config, string, error) {
	if len(c.Approved) == 0 {
		return c, "", nil
	}
	folder, err := sandbox.Folder(c.Argv, c.Dir)
	if err != nil {
		return c, "", err
	}
	to, err := os.MkdirTemp("", "spdl-code-")
	if err != nil {
		return c, "", err
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
		_ = os.RemoveAll(to)
		return c, "", err
	}
	return c, to, nil
}

// relocate returns the configuration for a copy of the code. Every argument that is a file of the
// code in folder becomes the path of its copy in copyFolder. Paths of data stay the same.
func (c Config) relocate(folder, copyFolder string, code Code) (Config, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, err
	}
	ours := 0
	c.Argv = slices.Clone(c.Argv)
	for i, word := range c.Argv {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			continue
		}
		rel, err := filepath.Rel(folder, real)
		if err == nil && slices.ContainsFunc(code.Files, func(f CodeFile) bool { return f.Path == filepath.ToSlash(rel) }) {
			c.Argv[i] = filepath.Join(copyFolder, rel)
			ours++
		}
	}
	if ours == 0 {
		return c, fmt.Errorf("%w: no word of %q is a file of the code in %s: name the script, with a suffix of code or "+
			"executable", ErrCode, c.Argv, folder)
	}
	if c.Share.Data != "" && !filepath.IsAbs(c.Share.Data) {
		if at := filepath.Join(dir, c.Share.Data); exists(at) {
			c.Share.Data = at
		}
	}
	c.Sandbox.Read = append(slices.Clone(c.Sandbox.Read), folder)
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
