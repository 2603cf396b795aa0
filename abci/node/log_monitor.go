package node

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/databases"
)

// logMonitor is a logger for CometBFT that also passes its error messages to onError. It logs some
// of them at a lower level: rejections of needless evidence, with which a peer could fill the log;
// errors from closing connections while the node stops; and errors about peers that occur in a
// healthy net. Consensus failures stay errors.
type logMonitor struct {
	log.Logger
	onError  func(message, reason string)
	stopping <-chan struct{} // closed when the node must stop
}

// Error logs a message, and passes it to onError with the value of the key err.
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
	if said := ofHealthyNet(message, keyvals); said != "" {
		h.Info(said, keyvals...)
		return
	}
	h.Logger.Error(message, keyvals...)
	for i := 0; i+1 < len(keyvals); i += 2 {
		if keyvals[i] == "err" {
			h.onError(message, fmt.Sprint(keyvals[i+1]))
		}
	}
}

// ofHealthyNet returns another text for an error about a peer that occurs in a healthy net: the
// peer is not running yet or is down for a moment, two nodes have dialed each other at once, or the
// peer's member has left. In the first two cases CometBFT and redial dial the peer again, and redial
// warns if a persistent peer stays missing. For other errors ofHealthyNet returns "".
func ofHealthyNet(message string, keyvals []any) string {
	is := func(expected func(error) bool) bool {
		return slices.ContainsFunc(keyvals, func(v any) bool { err, ok := v.(error); return ok && expected(err) })
	}
	switch {
	case message == saidNotDialed && is(unreachable):
		return "peer not reached, it is dialed again"
	case message == saidNotDialed && is(duplicate):
		return "peer is connected already"
	case (message == saidNotDialed || message == saidPeerStopped) && is(admission.IsStranger):
		return "peer is no member's node, and is not connected"
	case message == saidPeerStopped && is(closedByPeer):
		return "peer closed the connection"
	}
	return ""
}

func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || closedByPeer(err)
}

func duplicate(err error) bool {
	var rejected p2p.ErrRejected
	return errors.As(err, &rejected) && rejected.IsDuplicate()
}

// closedByPeer reports whether a peer closed the connection, as a node does that does not admit
// this node. It also recognises a close during the handshake, whose error CometBFT does not unwrap.
func closedByPeer(err error) bool {
	var rejected p2p.ErrRejected
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.As(err, &rejected) && rejected.IsAuthFailure() && (strings.HasSuffix(err.Error(), ": EOF") ||
			strings.HasSuffix(err.Error(), syscall.ECONNRESET.Error()))
}

// With implements log.Logger.
func (h logMonitor) With(keyvals ...any) log.Logger {
	return logMonitor{h.Logger.With(keyvals...), h.onError, h.stopping}
}

// onError ends the node with a reason if a message from CometBFT means that the node has failed.
func (r *Running) onError(message, reason string) {
	switch message {
	case saidHalted:
		r.halted.Store(&reason)
		if signed, ok := strings.CutPrefix(reason, saidCommittedInvalid); ok {
			r.diverged(signed)
		}
	case saidInvalid: // occurs while catching up, after the commit's signatures were verified
		r.diverged(reason)
	case saidSyncFailed:
		r.fail(fmt.Errorf("%w: %s; %s", errSync, reason, syncRemedy))
	}
}

// diverged ends a node whose state differs from the state that more than two thirds signed, and
// records the divergence.
func (r *Running) diverged(reason string) {
	if !strings.HasPrefix(reason, saidWrongHeader) {
		return
	}
	if err := recordDivergence(r.dataDir, reason); err != nil {
		r.fail(err)
	}
	r.fail(divergence(reason))
}

// fail reports an error from which the node cannot recover. If the channel is full, fail drops the
// error.
func (r *Running) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}
