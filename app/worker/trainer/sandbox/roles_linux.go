package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// init makes of a process that this package started what its name says. It runs before main, so
// that every program that links this package, a test's too, can contain a trainer.
func init() {
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case supervisorName:
		os.Exit(supervise())
	case confinedName:
		err := confine() // does not return if the trainer starts
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(exitFailed)
	}
}

// exitFailed is the exit code of a sandbox that did not start its trainer.
const exitFailed = 125

// ownSession starts a process in a session of its own, where no terminal and no signal to the
// worker's group reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
