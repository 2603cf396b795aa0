// Command spdl runs, governs and inspects an SPDL chain: a node with its
// worker, a worker alone, localnets, keys, genesis files, transactions of
// membership and governance, and queries.
//
// Data goes to standard output, progress and logs to standard error. Exit
// codes: 0 done, 1 failed, 2 wrong use, 3 the node did not answer.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spdl/spdl/abci/client"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// usageError is wrong use of the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil || interrupted && errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintln(os.Stderr, "spdl:", plain(err.Error()))
	var usage usageError
	switch {
	case errors.As(err, &usage):
		os.Exit(exitUsage)
	case errors.Is(err, client.ErrUnreachable):
		os.Exit(exitUnreachable)
	}
	os.Exit(exitFailure)
}
