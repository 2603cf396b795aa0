package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// init runs the supervisor or the confined process if this package started the process in that
// role. The name of the process says which. init runs before main, so that every program that links
// this package, even a test, can contain a trainer.
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
