package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/testnet"
)

// netTimeout is longer than any net runs, even on a slow machine.
const netTimeout = 20 * time.Minute

// runNet runs a net of real nodes in this process, with databases in memory, until look returns.
func runNet(ctx context.Context, m testnet.Manifest, look func(context.Context, *testnet.Net) error) (err error) {
	home, err := os.MkdirTemp("", "spdl-experiment-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	m.Home, m.Memory = filepath.Join(home, "net"), true
	n, err := testnet.Init(m)
	if err == nil {
		err = Collude(n)
	}
	if err != nil {
		return err
	}
	nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.Stop()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, netTimeout, fmt.Errorf("the net of %d nodes is not done after %v",
		m.Validators, netTimeout))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		select {
		case err := <-nodes.Failed():
			fail(err)
		case <-ctx.Done():
		}
	}()
	if err := look(ctx, n); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}
