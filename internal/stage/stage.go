// Package stage tells a test how much it is to do. There are three stages, and a
// test that would take seconds does less in the first two:
//
//	make check      go test -short           while one works: under a minute
//	make test       go test                  before a push: minutes
//	make test-long  SPDL_LONG=1 go test      CI: all cases of all tests
//
// The environment carries the switch and no flag or build tag, because every
// package takes it, nothing is compiled twice, and the test cache knows of it: after
// make test, make test-long runs the tests that ask for the stage and no others.
package stage

import (
	"os"
	"os/exec"
	"testing"
)

// Variable is the environment variable that asks for the long stage.
const Variable = "SPDL_LONG"

// Long reports whether all cases are to run.
func Long() bool { return os.Getenv(Variable) != "" }

// Pick returns the value of the running stage.
func Pick[T any](check, test, long T) T {
	switch {
	case Long():
		return long
	case testing.Short():
		return check
	}
	return test
}

// OnlyLong skips a test in all stages but the long one.
func OnlyLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("runs in make test-long")
	}
}

// NotShort skips a test in the check stage. The reason says what it does that
// takes long.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() && !Long() {
		t.Skip(reason + ": runs in make test")
	}
}

// Tool returns the path of a program that is no part of the project, or skips the test where it is
// not installed: make test runs on a machine that has Go alone. .ci/run installs what tests ask for
// where the machine lets it.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	return path
}
