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
// healthy net. A test searches the module's source for them.
const (
	saidNotDialed   = "Error dialing peer"
	saidPeerStopped = "Stopping peer for error"
)

// OfHealthyNet returns another text for an error about a peer that occurs in a healthy net: the
// peer is not running yet or is down for a moment, two nodes have dialed each other at once, or the
// peer's member has left. In the first two cases CometBFT and redial dial the peer again, and redial
// warns if a persistent peer stays missing. For other errors OfHealthyNet returns "".
func OfHealthyNet(message string, keyvals []any) string {
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
