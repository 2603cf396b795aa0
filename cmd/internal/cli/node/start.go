package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
	"github.com/spdl/spdl/cmd/internal/explorer"
)

// Start returns the command that runs the node of a home until a signal ends it.
func Start() *cobra.Command {
	return Runs(&cobra.Command{
		Use:   "start",
		Short: "Run the node of a home, with its worker",
		Example: "  spdl start --home ./node\n" +
			"  spdl start --log-level app:info,*:error",
	}, func(r *command.Run) (node.Hooks, error) { return node.Hooks{Keys: r.Keystore()}, nil })
}

// Runs makes cmd run the node of the home with hooks.
func Runs(cmd *cobra.Command, hooks func(*command.Run) (node.Hooks, error)) *cobra.Command {
	var logs command.LogFlags
	cmd = command.Service(command.New(cmd, func(r *command.Run, _ []string) error {
		h, err := hooks(r)
		if err != nil {
			return err
		}
		return run(r, logs, h)
	}))
	command.PassphraseFlag(cmd)
	logs.Declare(cmd, "")
	return cmd
}

// collect is the GOGC of a node's process unless the environment sets it. It is half the default:
// the heap is small and mostly holds no pointers, so more frequent collections cost almost no time.
// A memory limit would be worse, because a limit that is too low costs many times the CPU.
const collect = 50

// run runs the node of the home until the command is interrupted, or the node ends.
func run(r *command.Run, logs command.LogFlags, h node.Hooks) error {
	c, a, logger, err := logs.Begin(r, "error")
	if err != nil {
		return err
	}
	if err := home.AwaitGenesis(r.Context, c, logger); err != nil {
		if r.Context.Err() != nil { // after a signal, as later, there is no error
			return nil
		}
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collect)
	}
	h.StartServices = explorer.Beside
	own := logger.With("module", "app")
	defer r.LogStop(own, "the node")()
	running, err := node.StartContext(r.Context, c, a, logger, h)
	pid := doctor.LockedBy(filepath.Join(c.DBDir(), "application.db", "LOCK")) // this process, if it has begun
	if errors.Is(err, syscall.EAGAIN) && pid != "" {
		err = fmt.Errorf("%w: process %s has them", err, pid)
	}
	if err != nil {
		return syncError(err, c.StateSync)
	}
	go logStandstill(r.Context, running, own)
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-r.Context.Done():
	case <-ended:
		own.Error("the node stops", "why", "CometBFT has ended it")
	case err = <-running.Failed():
		own.Error("the node stops", "err", err)
	}
	return errors.Join(err, running.Stop())
}
