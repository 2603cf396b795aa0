package node

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/network"
)

// logMonitor is a logger for CometBFT that also passes CometBFT's error messages to onError. It lowers the level of
// three kinds of errors: rejections of needless evidence, because a peer could cause any number of them; errors while
// the node stops; and errors about peers that occur in a healthy net. A consensus failure stays an error.
type logMonitor struct {
	log.Logger
	onError  func(message string, reason any)
	stopping <-chan struct{} // closed when the node must stop
}

// Error logs a message. If it lowers the message's level to Debug or Info, it does nothing more. If
// not, it also passes the message to onError, with the value that keyvals has for "err".
func (h logMonitor) Error(message string, keyvals ...any) {
	needless := func(v any) bool { err, ok := v.(error); return ok && errors.Is(err, databases.ErrNeedless) }
	if slices.ContainsFunc(keyvals, needless) {
		h.Debug(message, keyvals...)
		return
	}
	select {
	case <-h.stopping:
		if message != saidHalted {
			h.Debug(message, keyvals...)
			return
		}
	default:
	}
	if said := network.OfHealthyNet(message, keyvals); said != "" {
		h.Info(said, keyvals...)
		return
	}
	h.Logger.Error(message, keyvals...)
	for i := 0; i+1 < len(keyvals); i += 2 {
		if keyvals[i] == "err" {
			h.onError(message, keyvals[i+1])
		}
	}
}

// With implements log.Logger.
func (h logMonitor) With(keyvals ...any) log.Logger {
	return logMonitor{h.Logger.With(keyvals...), h.onError, h.stopping}
}

// onError ends the node with a reason if a message from CometBFT means that the node has failed.
func (r *Running) onError(message string, cause any) {
	reason := fmt.Sprint(cause)
	switch message {
	case saidUnsigned: // CometBFT logs the same message while no remote signer is connected
		if err, ok := cause.(error); ok && errors.As(err, new(*fs.PathError)) {
			r.fail(fmt.Errorf("%w: %w", errNoLog, err))
		}
	case saidHalted:
		r.haltReason.Store(&reason)
		if signed, ok := strings.CutPrefix(reason, saidCommittedInvalid); ok {
			r.onDivergence(signed)
		}
	case saidInvalid: // block sync logs this message, after it has verified the commit's signatures
		r.onDivergence(reason)
	case saidSyncFailed:
		r.fail(fmt.Errorf("%w: %s; %s", errSync, reason, syncRemedy))
	}
}

// onDivergence records that the node's state differs from the state that more than two thirds of
// the validators signed, and ends the node. It ignores reasons other than a wrong header.
func (r *Running) onDivergence(reason string) {
	if !strings.HasPrefix(reason, saidWrongHeader) {
		return
	}
	if err := recordDivergence(r.dataDir, reason); err != nil {
		r.fail(err)
	}
	r.fail(divergenceError(reason))
}

// fail reports an error from which the node cannot recover. If the channel is full, fail drops the error.
func (r *Running) fail(err error) {
	select {
	case r.failures <- err:
	default:
	}
}
