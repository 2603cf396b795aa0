// Command spdl-lab makes and runs localnets, computes the figures of the paper and of this project, and
// writes what a stopped chain did into one page. It links the attacks and the plots that spdl leaves out.
//
// Data goes to standard output, progress, logs and errors to standard error; with -o json an error
// is one line with a JSON object, the last one. Exit codes: 0 done, 1 failed, 2 wrong use.
package main

import (
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/lab"
)

func main() { command.Main(lab.Main) }
