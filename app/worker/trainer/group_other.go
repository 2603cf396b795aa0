//go:build !unix

package trainer

import (
	"os"
	"os/exec"
)

func setProcessGroup(*exec.Cmd) {}

func terminate(*os.Process) {}
func kill(p *os.Process)    { _ = p.Kill() }
