//go:build unix

package trainer

import (
	"os"
	"os/exec"
	"syscall"
)

// grouped makes a child the leader of a process group. Its own children then end with it, and the
// terminal's Ctrl-C does not reach it: its parent ends it in order.
func grouped(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the group of a child to end; kill ends it.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
