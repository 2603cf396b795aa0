// Command spdl runs, governs and inspects an SPDL chain: a node with its worker, a worker alone, keys, genesis files,
// transactions of membership and governance, and queries. Localnets are spdl-lab's.
//
// Data goes to standard output, progress, logs and errors to standard error; with -o json an error is one line with a
// JSON object, the last one. Exit codes: 0 done, 1 failed, 2 wrong use, 3 the node did not answer, 4 the chain is of
// another version than this program.
package main

import (
	"github.com/spdl/spdl/cmd/internal/cli"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func main() { command.Main(cli.Main) }
