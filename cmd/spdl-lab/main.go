// Command spdl-lab makes and runs localnets, computes the figures of the paper and of this project, and
// writes what a stopped chain did into one page. It links the attacks and the plots that spdl leaves out.
//
// Data goes to standard output, progress, logs and errors to standard error; with -o json an error
// is one line with a JSON object, the last one. Exit codes: 0 done, 1 failed, 2 wrong use.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spdl/spdl/cmd/internal/cli/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := lab.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
