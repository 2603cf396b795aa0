//go:build !unix

package trainer

import (
	"os"
	"os/exec"
)

func grouped(*exec.Cmd) {}

func terminate(*os.Process) {}
func kill(p *os.Process)    { _ = p.Kill() }
