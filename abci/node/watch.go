package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cmtnode "github.com/cometbft/cometbft/node"
)

// errHalted reports that a node's consensus has ended while the node lives on.
var errHalted = errors.New("consensus has halted; the log says why, at CONSENSUS FAILURE")

// consensusOf finds a node's consensus. Wait on it returns when it has ended.
func consensusOf(n *cmtnode.Node) (interface{ Wait() }, error) {
	env, err := n.ConfigureRPC()
	if err != nil {
		return nil, err
	}
	consensus, ok := env.ConsensusState.(interface{ Wait() })
	if !ok {
		return nil, fmt.Errorf("consensus state is a %T, which has no Wait", env.ConsensusState)
	}
	return consensus, nil
}

// watch reports that consensus has ended while the node should run. CometBFT
// recovers from a panic there, and a FinalizeBlock that fails is one: it logs
// it and the process lives on, dead as a validator.
func (r *Running) watch(ctx context.Context, consensus interface{ Wait() }) {
	consensus.Wait()
	if ctx.Err() != nil {
		return
	}
	err := errHalted
	if reason := r.halted.Load(); reason != nil {
		err = fmt.Errorf("%w: %s", errHalted, *reason)
		if strings.Contains(*reason, "too far in the future") {
			err = fmt.Errorf("%w; the clock of this host is behind the others': synchronise it (NTP) and start the node again", err)
		}
	}
	r.fail(err)
}

// Failed delivers what a running node cannot recover from: its consensus has
// halted, or its worker has given up. A worker tries again whatever may succeed
// later, so only a wrong key, journal or data set ends it.
func (r *Running) Failed() <-chan error { return r.failed }
