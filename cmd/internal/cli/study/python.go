package study

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// debian is the interpreter for Debian's python3-numpy and python3-torch. $PATH may have another python3 before it.
const debian = "/usr/bin/python3"

// packages are Debian's packages of the modules that studies import.
var packages = map[string]string{"numpy": "python3-numpy", "torch": "python3-torch", "sklearn": "python3-sklearn"}

// lacks returns an error with the remedy for an interpreter that lacks a module.
func lacks(ctx context.Context, python, module string) error {
	if python != debian && imports(ctx, debian, module) {
		return fmt.Errorf("%s has no %s: try --python %s", python, module, debian)
	}
	install := "install it for this interpreter"
	if p := packages[module]; p != "" {
		install += " (on Debian: apt-get install " + p + ", and --python " + debian + ")"
	}
	return fmt.Errorf("%s has no %s: %s, or name another with --python", python, module, install)
}

// imports reports whether an interpreter has a module.
func imports(ctx context.Context, python, module string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	top, _, _ := strings.Cut(module, ".")
	const find = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
	// Isolated, the interpreter imports nothing from the working directory, which may be the trainer's.
	return exec.CommandContext(ctx, python, "-I", "-c", find, top).Run() == nil
}

// withPython returns a command line that the named interpreter runs, in place of its own
// interpreter. With an empty name it returns the command line unchanged.
func withPython(python string, args []string) []string {
	switch {
	case python == "":
		return args
	case strings.HasPrefix(filepath.Base(args[0]), "python") && !strings.HasSuffix(args[0], ".py"):
		return append([]string{python}, args[1:]...)
	}
	return append([]string{python}, args...)
}
