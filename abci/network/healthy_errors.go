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

// CometBFT v0.40.0 logs these messages about a peer at error level, although they also occur in a healthy net: the
// second up to 15 s after block sync has ended. A test searches CometBFT's source for them.
const saidPeerStopped, saidPeerSilent = "Stopping peer for error", "SendTimeout"

// OfHealthyNet recognizes the errors about a peer that also occur in a healthy net. For such an error it returns the
// text of a log line at a lower level, and for any other error "". These errors occur if a peer stops, or if the
// member that runs the peer has left. redial dials a missing persistent peer again, and warns if it stays missing.
func OfHealthyNet(message string, keyvals []any) string {
	is := func(expected func(error) bool) bool {
		return slices.ContainsFunc(keyvals, func(v any) bool { err, ok := v.(error); return ok && expected(err) })
	}
	switch {
	case message == saidPeerSilent:
		return "peer sent no block in time, and block sync asks others"
	case message != saidPeerStopped:
	case is(admission.IsStranger):
		return "peer is no member's node, and is not connected"
	case is(isClosedByPeer):
		return "peer closed the connection"
	}
	return ""
}

func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || isClosedByPeer(err)
}

// isClosedByPeer reports whether the peer closed the connection, for example because it does not admit this node. It
// also recognises a close during the handshake, which CometBFT reports only as text.
func isClosedByPeer(err error) bool {
	var rejected p2p.ErrRejected
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.As(err, &rejected) && rejected.IsAuthFailure() && (strings.HasSuffix(err.Error(), ": EOF") ||
			strings.HasSuffix(err.Error(), syscall.ECONNRESET.Error()))
}
