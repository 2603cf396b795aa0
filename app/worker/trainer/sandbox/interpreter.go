package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// command is a trainer's command line in the form that the sandbox runs.
type command struct {
	argv        []string // the first word is an absolute path
	dir         string
	folder      string   // the folder of the trainer's code
	interpreter []string // files and folders of the interpreter and its libraries
	env         []string
}

// resolve finds the program of a command line, the folder of its code, and its interpreter. It executes nothing,
// because the command line and the first line of a script may name a program of the trainer's author.
func (c *command) resolve(argv []string, dir string) (err error) {
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	c.argv = append([]string(nil), argv...)
	byScript := false
	if interpreter, ok := shebang(c.argv[0], c.dir); ok {
		c.argv = append([]string{interpreter, From(c.dir, c.argv[0])}, c.argv[1:]...)
		byScript = strings.ContainsRune(interpreter, filepath.Separator)
	}
	if c.argv[0], err = executablePath(c.argv[0], c.dir); err != nil {
		return err
	}
	if c.folder, err = c.ownFolder(); err != nil || !python.MatchString(filepath.Base(c.argv[0])) {
		return err
	}
	return c.addLibraries(byScript)
}

// python matches the name of a Python interpreter.
var python = regexp.MustCompile(`^python[0-9.]*[a-z]?$`)

// addLibraries makes a Python interpreter's own folder, its virtual environment and the packages of
// the user readable. The author of the trainer chose an interpreter that lies in the trainer's
// folder, and a path that a script names: these make nothing readable by where they lead.
func (c *command) addLibraries(byScript bool) error {
	folder, err := absolutePath(filepath.Dir(c.argv[0]), "")
	if err != nil {
		return err
	}
	program, err := absolutePath(c.argv[0], "")
	if err != nil {
		return err
	}
	if inside, err := isInside(folder, c.folder); inside || err != nil {
		return err
	}
	if !byScript {
		if inside, err := isInsideAny(program, append(system, c.folder)); err != nil {
			return err
		} else if !inside {
			c.interpreter = append(c.interpreter, prefix(program))
		}
		environment := prefix(filepath.Join(folder, filepath.Base(c.argv[0])))
		if _, err := os.Stat(filepath.Join(environment, "pyvenv.cfg")); err == nil {
			c.interpreter = append(c.interpreter, environment)
		}
	}
	base := os.Getenv("PYTHONUSERBASE")
	if home, err := os.UserHomeDir(); err == nil && base == "" {
		base = filepath.Join(home, ".local")
	}
	if packages, _ := filepath.Glob(filepath.Join(base, "lib", "python*", "site-packages")); filepath.IsAbs(base) {
		c.interpreter = append(c.interpreter, packages...)
		c.env = append(c.env, "PYTHONUSERBASE="+base)
	}
	return nil
}

// prefix returns the folder above bin, or above shims of a version manager, for a program in such a
// folder, and the program's own folder for every other program.
func prefix(program string) string {
	folder := filepath.Dir(program)
	if name := filepath.Base(folder); name == "bin" || name == "shims" {
		return filepath.Dir(folder)
	}
	return folder
}

// Program says where the program of a trainer and the trainer's code are.
type Program struct {
	Path        string   // the program: the interpreter if the trainer is a Python script
	Folder      string   // the folder of the trainer's code: of its script, or of its program
	Interpreter []string // the folders of the interpreter, which the trainer may read
}

// Find returns the program of a command line. It executes nothing.
func Find(argv []string, dir string) (Program, error) {
	var c command
	err := c.resolve(argv, dir)
	return Program{Path: c.argv[0], Folder: c.folder, Interpreter: c.interpreter}, err
}

// executablePath returns the path of a program. A relative path begins in dir; a name without a
// slash is looked up in $PATH.
func executablePath(program, dir string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) {
		program = From(dir, program)
	}
	return exec.LookPath(program)
}

// maxFirstLine is the number of bytes in which the kernel looks for a script's interpreter.
const maxFirstLine = 256

// shebang returns the Python interpreter that the first line of a script names. ok is false if the
// program is not such a script.
func shebang(program, dir string) (interpreter string, ok bool) {
	path, err := executablePath(program, dir)
	if err != nil || !strings.ContainsRune(program, filepath.Separator) {
		return "", false
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // to open a FIFO would wait for a writer
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if err != nil || !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return "", false
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 {
		words = words[1:]
	}
	return words[0], len(words) == 1 && python.MatchString(filepath.Base(words[0]))
}

// ownFolder returns the folder of the trainer's code: the folder of the first argument that is a
// file, such as an interpreter's script. If no argument is a file, ownFolder returns the program's
// folder, or the working directory if the program belongs to the system or the interpreter.
func (c *command) ownFolder() (string, error) {
	for _, argument := range c.argv[1:] {
		path := From(c.dir, argument)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return absolutePath(filepath.Dir(path), "")
		}
	}
	program, err := absolutePath(c.argv[0], "")
	if err != nil {
		return "", err
	}
	ofSystem, err := isInsideAny(program, system)
	if ofSystem || python.MatchString(filepath.Base(c.argv[0])) {
		return absolutePath(c.dir, "")
	}
	return filepath.Dir(program), err
}
