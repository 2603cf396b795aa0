package limit

import (
	"testing"

	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// pool is a reactor that records the peers that it counts, as CometBFT's block sync.
type pool struct {
	p2p.Reactor
	shown map[p2p.ID]int64 // the reported heights
}

func (p *pool) Receive(m p2p.Envelope) {
	p.shown[m.Src.ID()] = m.Message.(*cmtsync.StatusResponse).Height
}

func (p *pool) RemovePeer(peer p2p.Peer, _ any) { delete(p.shown, peer.ID()) }

// TestBlockGap: a node at height 22 of four members, of whom f = 1 may lie. base 1 stands for a peer
// that keeps all blocks.
func TestBlockGap(t *testing.T) {
	type report struct{ member, base, height int64 } // member 4 is a stranger
	for name, c := range map[string]struct {
		reports []report
		oldest  int64   // 0 without a gap
		shown   []int64 // the reported heights that block sync sees
	}{
		"no peer":                             {},
		"all members have dropped it":         {[]report{{0, 42, 90}, {1, 58, 90}, {2, 42, 90}}, 42, nil},
		"the only member has dropped it":      {[]report{{0, 42, 90}}, 42, nil},
		"two have dropped it, one is behind":  {[]report{{0, 42, 90}, {1, 42, 91}, {2, 1, 22}}, 42, nil},
		"one member says it with three nodes": {[]report{{0, 42, 90}, {0, 42, 90}, {0, 42, 90}, {1, 1, 22}}, 0, []int64{22}},
		"one says it, two are at the height":  {[]report{{0, 42, 90}, {1, 1, 22}, {2, 1, 21}}, 0, []int64{22, 21}},
		"one keeps it":                        {[]report{{0, 42, 90}, {1, 42, 90}, {2, 23, 90}}, 0, []int64{90}},
		"strangers have dropped it":           {[]report{{4, 42, 90}, {4, 42, 90}}, 0, nil},
		"a stranger says that it keeps it":    {[]report{{0, 42, 90}, {4, 1, 91}}, 42, []int64{91}},
	} {
		t.Run(name, func(t *testing.T) {
			s, trusted := &app.State{Height: 22, Participants: make([]app.Participant, 4)}, map[p2p.ID]bool{}
			for i := range s.Participants {
				s.Participants[i] = app.Participant{Active: true, ConsensusKey: []byte{1}}
			}
			inner := &pool{shown: map[p2p.ID]int64{}}
			g := NewBlockGap(func() *app.State { return s }, func(id p2p.ID) bool { return trusted[id] })
			g.blocks = inner
			l := &syncLimiter{Reactor: inner, gap: g}
			var peers []*mock.Peer
			for _, r := range c.reports {
				peer := mock.NewPeer(nil)
				peers = append(peers, peer)
				if r.member < 4 {
					p := &s.Participants[r.member]
					p.NodeIds, trusted[peer.ID()] = append(p.NodeIds, string(peer.ID())), true
				}
				l.Receive(p2p.Envelope{Src: peer, Message: &cmtsync.StatusResponse{Base: r.base, Height: r.height}})
			}
			next, oldest := g.Missing()
			require.Equal(t, c.oldest, oldest)
			require.Equal(t, oldest > 0, next == 23)
			var heights []int64
			for _, h := range inner.shown {
				heights = append(heights, h)
			}
			require.ElementsMatch(t, c.shown, heights)

			s.Height = 60 // as by state sync: block sync sees all that it did not see before
			g.Review()
			_, oldest = g.Missing()
			require.Zero(t, oldest)
			require.Len(t, inner.shown, len(c.reports))
			for _, p := range peers {
				require.NoError(t, p.Stop())
			}
			g.Review()
			require.Empty(t, g.ranges)
		})
	}
}

// TestBlockGapOfStateSync: without a state there is no gap, and block sync gets the peers once there
// is one.
func TestBlockGapOfStateSync(t *testing.T) {
	var s *app.State
	inner, peer := &pool{shown: map[p2p.ID]int64{}}, mock.NewPeer(nil)
	g := NewBlockGap(func() *app.State { return s }, func(p2p.ID) bool { return true })
	g.blocks = inner
	g.observe(p2p.Envelope{Src: peer, Message: &cmtsync.StatusResponse{Base: 42, Height: 90}},
		&cmtsync.StatusResponse{Base: 42, Height: 90})
	_, oldest := g.Missing()
	require.Zero(t, oldest)
	require.Empty(t, inner.shown)
	s = &app.State{Height: 80}
	g.Review()
	require.Len(t, inner.shown, 1)
	g.observe(p2p.Envelope{Src: peer, Message: &cmtsync.StatusResponse{Base: 90, Height: 140}},
		&cmtsync.StatusResponse{Base: 90, Height: 140})
	require.Empty(t, inner.shown, "it has dropped the next block since")
	require.NoError(t, peer.Stop())
}
