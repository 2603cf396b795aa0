package network

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/admission"
)

// CometBFT v0.40.0 logs these messages about a peer at error level, although they also occur in a
// healthy net. A test searches CometBFT's source for these messages.
const (
	saidNotDialed   = "Error dialing peer"
	saidPeerStopped = "Stopping peer for error"
)

// OfHealthyNet recognizes the errors about a peer that also occur in a healthy net. For such an
// error it returns the text of a log line at a lower level, and for any other error "". These
// errors occur if a peer is not running, if two nodes dial each other at once, or if the member
// that runs the peer has left. CometBFT and redial dial a missing peer again, and redial warns if a
// persistent peer stays missing.
func OfHealthyNet(message string, keyvals []any) string {
	is := func(expected func(error) bool) bool {
		return slices.ContainsFunc(keyvals, func(v any) bool { err, ok := v.(error); return ok && expected(err) })
	}
	switch {
	case message == saidNotDialed && is(isUnreachable):
		return "peer not reached, it is dialed again"
	case message == saidNotDialed && is(isDuplicate):
		return "peer is connected already"
	case (message == saidNotDialed || message == saidPeerStopped) && is(admission.IsStranger):
		return "peer is no member's node, and is not connected"
	case message == saidPeerStopped && is(isClosedByPeer):
		return "peer closed the connection"
	}
	return ""
}

func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || isClosedByPeer(err)
}

func isDuplicate(err error) bool {
	var rejected p2p.ErrRejected
	return errors.As(err, &rejected) && rejected.IsDuplicate()
}

// isClosedByPeer reports whether the peer closed the connection, for example because it does not
// admit this node. It also recognises a close during the handshake, which CometBFT reports only as
// text.
func isClosedByPeer(err error) bool {
	var rejected p2p.ErrRejected
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.As(err, &rejected) && rejected.IsAuthFailure() && (strings.HasSuffix(err.Error(), ": EOF") ||
			strings.HasSuffix(err.Error(), syscall.ECONNRESET.Error()))
}
