//go:build unix

package trainer

import (
	"os"
	"os/exec"
	"syscall"
)

// setProcessGroup makes a child the leader of a process group. One signal then reaches the child
// and the child's own children. A terminal's Ctrl-C does not reach the group, so the worker can ask
// the child to end before it sends a signal.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate sends SIGTERM to all processes of a child's group, and kill sends SIGKILL.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
