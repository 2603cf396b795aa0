package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cmtnode "github.com/cometbft/cometbft/node"
)

// errHalted reports that a node's consensus has ended while the node is running.
var errHalted = errors.New("consensus has halted; the log says why, at CONSENSUS FAILURE")

// consensusOf returns a node's consensus. Wait on it returns when consensus has ended.
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

// watch reports the end of consensus in a running node. CometBFT recovers from a panic there, such
// as that of a failed FinalizeBlock: it logs it, and the process goes on without a validator.
func (r *Running) watch(ctx context.Context, consensus interface{ Wait() }) {
	consensus.Wait()
	if ctx.Err() != nil {
		return
	}
	err := errHalted
	if reason := r.halted.Load(); reason != nil {
		err = fmt.Errorf("%w: %s", errHalted, *reason)
		if strings.Contains(*reason, saidFuture) {
			err = fmt.Errorf("%w; the clock of this host is behind the others': synchronise it (NTP) and start the node again",
				err)
		}
	}
	r.fail(err)
}

// Failed delivers the errors from which a running node cannot recover: consensus has halted, or the
// worker has given up. A worker retries temporary errors, so only a wrong key, journal or data set
// stops it.
func (r *Running) Failed() <-chan error { return r.failed }
