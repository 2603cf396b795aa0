//go:build unix

package trainer

import (
	"os"
	"os/exec"
	"syscall"
)

// grouped makes a child the leader of a process group. One signal then reaches the child and all
// its own children, and a terminal's Ctrl-C does not reach it: the worker ends it in order.
func grouped(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks all processes of a child's group to end, and kill forces them.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
