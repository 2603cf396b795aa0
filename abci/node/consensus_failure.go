package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cmtnode "github.com/cometbft/cometbft/node"
)

// errHalted means that consensus has ended although the node is still running.
var errHalted = errors.New("consensus has halted; the log says why, at CONSENSUS FAILURE")

// errNoLog means that CometBFT's consensus log (the WAL) cannot be written, for example because the disk is full. The
// validator then signs no votes until the node restarts. Freeing disk space is not enough, because the log's buffer
// keeps the error. If more than a third of the validators are in this state, the chain stops.
var errNoLog = errors.New("the log of consensus cannot be written, so this validator signs nothing; make room on the " +
	"disk and start the node again")

// consensusOf returns the consensus state machine of a node. Its Wait returns when consensus has ended.
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

// watch waits until consensus ends in a running node, and reports errHalted. CometBFT only logs a panic in consensus,
// for example after a failed FinalizeBlock; without watch the process would continue without a validator.
func (r *Running) watch(ctx context.Context, consensus interface{ Wait() }) {
	consensus.Wait()
	if ctx.Err() != nil {
		return
	}
	err := errHalted
	if reason := r.haltReason.Load(); reason != nil {
		err = fmt.Errorf("%w: %s", errHalted, *reason)
		if strings.Contains(*reason, saidFuture) {
			err = fmt.Errorf("%w; the clock of this host is behind the others': synchronise it (NTP) and start the node again",
				err)
		}
	}
	r.fail(err)
}

// Failed returns a channel of the errors from which a running node cannot recover. Examples are a halt of consensus, a
// failed state sync, a divergence from the chain, an upgrade to another version, and an error that ends the worker (see
// runWorker). The worker retries by itself after temporary errors.
func (r *Running) Failed() <-chan error { return r.failures }
