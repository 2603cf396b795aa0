package trainer

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// StartError means that a trainer's program ended, or gave up, before it answered HELLO.
type StartError struct {
	// Program is the interpreter that lacks Module, if that is why. Both are empty otherwise.
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

// missing matches the last line of a Python program that could not import a module, and captures
// the module's name.
var missing = regexp.MustCompile(`^ModuleNotFoundError: No module named '([^']{1,100})'`)

// MissingModule returns the Python module that a program could not import, or "" if words is not
// the error message about one.
func MissingModule(words string) string {
	if m := missing.FindStringSubmatch(words); m != nil {
		return m[1]
	}
	return ""
}

// notStarted turns the error of a HELLO into a StartError if the program has ended or given up. It
// returns other errors as they are.
func (t *Trainer) notStarted(err error) error {
	var said fault
	words := ""
	switch {
	case errors.As(err, &said):
		words = string(said)
	case errors.Is(err, errEnded):
		words = t.child.said.last
		err = fmt.Errorf("%w: %.300s", err, words)
	default:
		return err
	}
	return &StartError{Program: interpreter(t.config.Argv), Module: MissingModule(words), err: err}
}

// interpreter returns the Python that runs a command line. For a script that is executed itself it
// is python3, from the script's first line.
func interpreter(argv []string) string {
	if strings.HasPrefix(filepath.Base(argv[0]), "python") {
		return argv[0]
	}
	return "python3"
}
