package command

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/abci/version"
)

// Build returns the name of this build: its version, with the hash of the executable if the version
// does not identify the sources.
func Build() (string, error) {
	v := version.Version
	if v != version.Unreleased && !strings.HasSuffix(v, "-dirty") {
		return v, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (executable %x)", v, h.Sum(nil)[:6]), nil
}

// Program returns what a reader types to run a program of this release: with the folder of this
// program if it was run by its path, as build/spdl or build/spdl-lab, and otherwise the name alone.
func Program(name string) string { return programBeside(os.Args[0], name) }

func programBeside(run, name string) string {
	at := strings.LastIndexByte(run, filepath.Separator)
	if at < 0 || run[at+1:] != "spdl" && run[at+1:] != "spdl-lab" {
		return name
	}
	return run[:at+1] + name
}
