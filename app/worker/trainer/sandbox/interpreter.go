package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// command is a trainer's command line in the form that the sandbox runs.
type command struct {
	argv        []string // the first word is an absolute path
	dir         string
	folder      string   // the folder of the trainer's code
	interpreter []string // files and folders of the interpreter and its libraries
	env         []string
}

// resolve finds the program of a command line, the folder of its code, and its interpreter.
func (c *command) resolve(argv []string, dir string) (err error) {
	if dir == "" {
		dir = "."
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	c.argv = append([]string(nil), argv...)
	if python, ok := shebang(c.argv[0], c.dir); ok {
		script := c.argv[0]
		if !filepath.IsAbs(script) {
			script = filepath.Join(c.dir, script)
		}
		c.argv = append([]string{python, script}, c.argv[1:]...)
	}
	if strings.HasPrefix(filepath.Base(c.argv[0]), "python") {
		if err := c.askPython(); err != nil {
			return err
		}
	}
	if c.argv[0], err = executablePath(c.argv[0], c.dir); err != nil {
		return err
	}
	c.folder, err = c.ownFolder()
	return err
}

// Folder returns the folder of a trainer's code: the folder of its script, or of its program.
func Folder(argv []string, dir string) (string, error) {
	var c command
	err := c.resolve(argv, dir)
	return c.folder, err
}

// executablePath returns the path of a program. A relative path begins in dir; a name without a
// slash is looked up in $PATH.
func executablePath(program, dir string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	return exec.LookPath(program)
}

// shebang returns the Python interpreter that the first line of a script names. ok is false if the
// program is not such a script.
func shebang(program, dir string) (python string, ok bool) {
	path, err := executablePath(program, dir)
	if err != nil || !strings.ContainsRune(program, filepath.Separator) {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if err != nil || !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return "", false
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 {
		words = words[1:]
	}
	return words[0], len(words) == 1 && strings.HasPrefix(filepath.Base(words[0]), "python")
}

// ownFolder returns the folder of the trainer's code: the folder of the first argument that is a
// file, such as an interpreter's script. If no argument is a file, ownFolder returns the program's
// folder, or the working directory if the program belongs to the system or the interpreter.
func (c *command) ownFolder() (string, error) {
	for _, argument := range c.argv[1:] {
		path := argument
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.dir, path)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return absolutePath(filepath.Dir(path), "")
		}
	}
	program, err := absolutePath(c.argv[0], "")
	if err != nil {
		return "", err
	}
	for _, folder := range append(system, c.interpreter...) {
		if isInside(program, folder) {
			return absolutePath(c.dir, "")
		}
	}
	return filepath.Dir(program), nil
}

// interpreterInfo is an interpreter's answer about itself.
type interpreterInfo struct {
	Executable string
	Base       string   // the folder of the user's packages
	Paths      []string // the folders of the interpreter and of its packages
}

// interpreterCache holds the interpreterInfo of each interpreter by path, because a trainer may
// restart often.
var interpreterCache sync.Map

// askPython asks the command's Python interpreter for its executable and its folders. The
// executable replaces the command's program, which may be a wrapper of pyenv or of a virtual
// environment.
func (c *command) askPython() error {
	path, err := executablePath(c.argv[0], c.dir)
	if err != nil {
		return err
	}
	known, ok := interpreterCache.Load(path)
	if !ok {
		if known, err = ask(path, c.env); err != nil {
			return fmt.Errorf("%s does not say where its libraries are: %w", path, err)
		}
		interpreterCache.Store(path, known)
	}
	answer := known.(interpreterInfo)
	c.argv[0] = answer.Executable
	c.interpreter = append(c.interpreter, answer.Paths...)
	c.env = append(c.env, "PYTHONUSERBASE="+answer.Base)
	return nil
}

// ask runs an interpreter with a short script that prints its folders. The working directory is /,
// so that the interpreter imports no module of the trainer.
func ask(path string, env []string) (answer interpreterInfo, err error) {
	const question = `import json, os, site, sys; print(json.dumps({"executable": sys.executable,
"base": site.getuserbase(), "paths": [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable),
os.path.dirname(os.path.realpath(sys.executable))] + [p for p in sys.path if p]}))`
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", question)
	cmd.Dir, cmd.Env = "/", append(append([]string(nil), env...), "HOME="+os.Getenv("HOME"))
	said, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	all := answer.Paths
	answer.Paths = nil
	for _, p := range all {
		if at, err := filepath.EvalSymlinks(p); err == nil {
			answer.Paths = append(answer.Paths, at)
		}
	}
	return answer, err
}
