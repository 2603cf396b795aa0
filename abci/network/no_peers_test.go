package network

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/stretchr/testify/require"
)

// TestReportNoPeers: a node without a peer says so once, says what to do when peers close the connection right
// after the handshake, and says nothing while a peer is connected.
func TestReportNoPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		e, peer := newEarlyCloses(), mock.NewPeer(net.IPv4(127, 0, 0, 1))
		ctx, cancel := context.WithCancel(context.Background())
		go e.reportNoPeers(ctx, "aabb", log.NewTMLogger(&b))
		said := func() string {
			time.Sleep(3 * noPeersPause)
			synctest.Wait()
			defer b.Reset()
			return b.String()
		}
		require.Equal(t, 1, strings.Count(said(), "no peers yet"))
		e.AddPeer(peer)
		e.RemovePeer(peer, io.EOF)
		text := said()
		require.Contains(t, text, "1 node(s) closed the connection right after the handshake")
		require.Contains(t, text, "another node with the id aabb")
		require.Contains(t, text, "closed by "+string(peer.ID()))
		e.AddPeer(peer)
		require.Empty(t, said())
		e.RemovePeer(peer, io.EOF)
		require.Contains(t, said(), "no peers yet")
		cancel()
	})
}
