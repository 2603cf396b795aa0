package network

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/stretchr/testify/require"
)

// TestEarlyCloses: a node that closes the connection right after the handshake is named until it
// stays connected. A node that leaves later, or that this node disconnected, is not named.
func TestEarlyCloses(t *testing.T) {
	e, now := newEarlyCloses(), time.Unix(1000, 0)
	e.now = func() time.Time { return now }
	peer := func() p2p.Peer { return mock.NewPeer(net.IPv4(127, 0, 0, 1)) }
	rejects, late, mine := peer(), peer(), peer()
	for _, p := range []p2p.Peer{rejects, late, mine} {
		e.AddPeer(p)
	}
	e.RemovePeer(rejects, io.EOF)
	e.RemovePeer(mine, errors.New("a message that cannot be decoded"))
	require.Zero(t, e.connectedPeers(), "too early to say")
	now = now.Add(earlyClose + 1)
	require.Equal(t, 1, e.connectedPeers())
	e.RemovePeer(late, io.EOF)
	require.Equal(t, []string{string(rejects.ID())}, e.closedBy())

	e.AddPeer(rejects)
	require.Len(t, e.closedBy(), 1, "it may close this one too")
	now = now.Add(earlyClose + 1)
	require.Empty(t, e.closedBy())

	for range maxEarlyCloses + 10 {
		now = now.Add(1)
		e.note(peer().ID())
	}
	require.LessOrEqual(t, len(e.closeTimes), maxEarlyCloses)
}
