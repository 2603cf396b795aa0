package trainer

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// StartError means that a trainer's program ended, or sent a fault, before it answered HELLO.
type StartError struct {
	// Module is the Python module that the program could not import; it is empty if the program
	// ended for another reason. Program is the interpreter.
	Program, Module string
	err             error
}

func (e *StartError) Error() string {
	if e.Module != "" {
		return fmt.Sprintf("it did not start: %s has no module %s", e.Program, e.Module)
	}
	return fmt.Sprintf("it did not start: %v", e.err)
}

func (e *StartError) Unwrap() error { return e.err }

// missingModule matches the last line of a Python program that could not import a module, and
// captures the module's name.
var missingModule = regexp.MustCompile(`^ModuleNotFoundError: No module named '([^']{1,100})'`)

// MissingModule returns the Python module that a program could not import, or "" if words is not
// the error message of such a failure.
func MissingModule(words string) string {
	if m := missingModule.FindStringSubmatch(words); m != nil {
		return m[1]
	}
	return ""
}

// denied matches the last words of a program that could not read a file.
var denied = regexp.MustCompile(`PermissionError|[Pp]ermission denied`)

// tracePlace matches a line of a Python traceback that names a file and a line.
var tracePlace = regexp.MustCompile(`^\s*File "([^"]+)", line (\d+)`)

// TracePlace returns the file and the line that a line of a Python traceback names, as "my.py:7: ",
// and the file's path. It returns "" for every other line.
func TracePlace(line string) (place, path string) {
	m := tracePlace.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	return fmt.Sprintf("%s:%s: ", filepath.Base(m[1]), m[2]), m[1]
}

// startError turns the error of a HELLO into a StartError if the program has ended or has sent a
// fault. It returns every other error, and nil, unchanged.
func (t *Trainer) startError(err error) error {
	var said fault
	words := ""
	switch {
	case errors.As(err, &said):
		words = string(said)
	case errors.Is(err, errEnded):
		words = t.child.stderr.lastLine
		err = fmt.Errorf("%w: %s%.300s", err, t.child.stderr.place, words)
	default:
		return err
	}
	if !t.config.Sandbox.Off && denied.MatchString(words) {
		err = fmt.Errorf("%w: the sandbox shows a trainer its folder, what --data (or worker.data) names and what "+
			"worker.trainer_read lists (trainer_read of a localnet's manifest): name the file there", err)
	}
	return &StartError{Program: interpreter(t.config.Argv), Module: MissingModule(words), err: err}
}

// interpreter returns the Python interpreter of a command line. For an executable script it returns
// python3, which the first line of such a script usually names.
func interpreter(argv []string) string {
	if strings.HasPrefix(filepath.Base(argv[0]), "python") {
		return argv[0]
	}
	return "python3"
}
