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

// errNoLog means that CometBFT's log of consensus cannot be written, for example because the disk is full. From then
// on the validator signs no vote until the node starts again. Space on the disk is not enough: the log's buffer
// keeps the error. If that happens to more than a third of the validators, the chain stops.
var errNoLog = errors.New("the log of consensus cannot be written, so this validator signs nothing; make room on the " +
	"disk and start the node again")

// consensusOf returns the consensus of a node. Its Wait returns when consensus has ended.
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

// watch reports the end of consensus in a running node. After a panic in consensus, as after a
// failed FinalizeBlock, CometBFT only logs the panic, and the process would continue without a
// validator.
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

// Failed returns a channel of the errors from which a running node cannot recover: consensus has
// halted, or the worker has ended. A worker retries after temporary errors, so only a wrong key,
// journal or data set ends it.
func (r *Running) Failed() <-chan error { return r.failures }
