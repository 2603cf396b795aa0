package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// If this package started the process, init runs the role that the name of the process says. It
// runs before main, so that every program that links this package, also a test, can contain a
// trainer.
func init() {
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case supervisorName:
		os.Exit(supervise())
	case confinedName:
		err := confine() // returns only if the trainer did not start
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(exitFailed)
	}
}

// exitFailed is the exit code of a sandbox whose trainer could not start.
const exitFailed = 125

// ownSession makes a process start in a session of its own, so that neither a terminal nor a signal
// to the worker's group reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
