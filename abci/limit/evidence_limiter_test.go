package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/stretchr/testify/require"
)

// tally counts the messages that reach a reactor.
type tally struct {
	p2p.BaseReactor
	messages int
}

func (r *tally) Receive(p2p.Envelope) { r.messages++ }

// TestGate: evidence of a peer is accepted up to the limit, and again after the period, whatever
// other peers send. A message with more pieces than the limit is never accepted.
func TestGate(t *testing.T) {
	r, at := &tally{}, time.Unix(0, 0)
	g := newEvidenceLimiter(r)
	g.now = func() time.Time { return at }
	flooder, honest := mock.NewPeer(nil), mock.NewPeer(nil)
	send := func(from p2p.Peer, pieces, times int) (taken int) {
		before := r.messages
		for range times {
			g.Receive(p2p.Envelope{Src: from, Message: &cmtproto.EvidenceList{Evidence: make([]cmtproto.Evidence, pieces)}})
		}
		return r.messages - before
	}
	require.Equal(t, maxPeerPieces, send(flooder, 1, 1000))
	require.Equal(t, 1, send(honest, 3, 1))
	at = at.Add(piecesPeriod - 1)
	require.Zero(t, send(flooder, 1, 10))
	at = at.Add(1)
	require.Equal(t, maxPeerPieces/2, send(flooder, 2, 1000))
	require.Zero(t, send(mock.NewPeer(nil), maxPeerPieces+1, 3))
	g.RemovePeer(flooder, nil)
	require.Zero(t, send(flooder, 1, 1), "it left and came back")
	at = at.Add(piecesPeriod)
	require.Equal(t, 1, send(honest, 1, 1))
	require.Len(t, g.peers, 1, "those of a former period are forgotten")
}

// TestCrowdAtTheGate: the evidence of all peers together is limited, and a peer outside the crowd
// can still deliver its own.
func TestCrowdAtTheGate(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40} {
		g, taken := newEvidenceLimiter(nil), 0
		for range 100 {
			for i := range k {
				if g.admit(p2p.ID(fmt.Sprint(i)), 1) {
					taken++
				}
			}
		}
		require.LessOrEqual(t, taken, min(k*maxPeerPieces, maxPieces+k*fairPieces))
		require.True(t, g.admit("honest", 1), "k = %d", k)
	}
}
