package admission

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

func idOf(i int) string { return fmt.Sprintf("%040x", i) }

// members returns n members with a validator and a node each.
func members(n int) (all []app.Participant) {
	for i := range n {
		all = append(all, app.Participant{Index: uint32(i), Active: true, ConsensusKey: []byte{byte(i)},
			NodeIds: []string{idOf(i)}})
	}
	return all
}

// TestAdmission: a node admits the nodes of active members, its persistent peers and the peers that
// its operator allows, and no other node. While an active member with a validator has registered no
// node, it admits every node.
func TestAdmission(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "config"), 0o700))
	allowed := " " + strings.ToUpper(idOf(0xaa)) + ", " + idOf(0xbb)
	c := config.DefaultConfig()
	c.SetRoot(home)
	c.P2P.PersistentPeers = idOf(0xcc) + "@host:26656"
	var s *app.State
	ad := New(c, Policy{Allowed: allowed}, members(3), func() *app.State { return s })
	stranger := idOf(0xdd)
	for _, id := range []string{idOf(0), idOf(1), idOf(2), idOf(0xaa), idOf(0xbb), idOf(0xcc)} {
		require.NoError(t, ad.Admit(id))
	}
	require.ErrorIs(t, ad.Admit(stranger), app.ErrNotParticipant)
	require.ErrorContains(t, ad.Admit(idOf(3)), "allowed_peers")

	all := members(4)
	all[0].Active = false
	s = &app.State{Participants: all}
	require.Error(t, ad.Admit(idOf(0)), "it has left")
	require.NoError(t, ad.Admit(idOf(3)), "it has joined")

	rewrite := func(allowed string, ahead time.Duration, more ...string) {
		file := filepath.Join(home, "config", "app.toml")
		text := fmt.Sprintf("[p2p]\nallowed_peers = %q\n", allowed) + strings.Join(more, "\n")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		at := time.Now().Add(ahead) // so that a file system with coarse times also shows the change
		require.NoError(t, os.Chtimes(file, at, at))
		ad.reread(log.NewNopLogger())
	}
	rewrite(stranger, time.Hour)
	require.NoError(t, ad.Admit(stranger), "app.toml was changed")
	require.Error(t, ad.Admit(idOf(0xaa)))
	require.ErrorContains(t, CheckPeerIDs("nobody"), "allowed_peers")
	rewrite("nobody", 2*time.Hour)
	require.NoError(t, ad.Admit(stranger), "what cannot be read changes nothing")
	rewrite("", 3*time.Hour, "members_only = false")
	require.NoError(t, ad.Admit(idOf(0xee)), "the operator lets everybody in, without a restart")
	rewrite("", 4*time.Hour)
	require.Error(t, ad.Admit(idOf(0xee)))

	all = members(4)
	all[2].NodeIds = nil
	s = &app.State{Participants: all}
	require.NoError(t, ad.Admit(idOf(0xee)), "who has named no node would be kept out")
	ad = New(c, Policy{Open: true, Allowed: allowed}, members(3), func() *app.State { return nil })
	require.NoError(t, ad.Admit(idOf(0xee)))
}

// TestConnect: CometBFT asks the application which peers to admit, and strangers cannot occupy the
// connections of members or of the peers in config.toml and app.toml. If config.toml has no
// persistent peers, the persistent peers are the registered addresses on the chain, without the
// addresses that do not name a node of their own member.
func TestConnect(t *testing.T) {
	all := members(7)
	all[0].Address = idOf(0) + "@a.example.org:26656" // this node
	all[1].Address = idOf(1) + "@b.example.org:26656"
	all[2].Address = idOf(1) + "@c.example.org:26656" // another participant's node
	all[3].Address = idOf(3) + "@d.example.org:70000"
	all[4].Address = idOf(4) + "@e:1," + idOf(0xdd) + "@f:1"
	all[5].Address = "g.example.org:26656"
	all[6].Address, all[6].Active = idOf(6)+"@h.example.org:26656", false
	c := config.DefaultConfig()
	c.P2P.UnconditionalPeerIDs = idOf(0xbb)
	ad := New(c, Policy{Allowed: idOf(0xaa)}, all, func() *app.State { return nil })
	fitted := Configure(c, ad, "0000000000000000000000000000000000000000")
	require.True(t, fitted.FilterPeers)
	require.False(t, c.FilterPeers, "the home's own stays as it is")
	require.Equal(t, []string{idOf(1) + "@b.example.org:26656"}, ad.Peers())
	require.Empty(t, fitted.P2P.PersistentPeers, "CometBFT would look names up once")
	require.Equal(t, strings.Join([]string{idOf(1), idOf(2), idOf(3), idOf(4), idOf(5), idOf(0xaa), idOf(0xbb)}, ","),
		fitted.P2P.UnconditionalPeerIDs)
	require.NoError(t, fitted.ValidateBasic())

	c = config.DefaultConfig()
	c.P2P.PersistentPeers = idOf(9) + "@host:1"
	ad = New(c, Policy{}, nil, func() *app.State { return nil })
	fitted = Configure(c, ad, "")
	require.Equal(t, []string{c.P2P.PersistentPeers}, ad.Peers())
	require.Equal(t, idOf(9), fitted.P2P.UnconditionalPeerIDs, "also of an open chain: persistent peers need no slots")
	require.Equal(t, c.P2P.MaxNumInboundPeers, fitted.P2P.MaxNumInboundPeers)
}

// switcher is a switch that records the peers that it is told to stop.
type switcher struct {
	p2p.Switcher
	peers   *p2p.PeerSet
	stopped chan p2p.ID
}

func (s *switcher) Peers() p2p.IPeerSet { return s.peers }

func (s *switcher) StopPeerForError(peer p2p.Peer, _ any) {
	s.peers.Remove(peer)
	s.stopped <- peer.ID()
}

// TestWatch: a node that takes its persistent peers from the chain disconnects a peer after the
// block in which the peer's member leaves, or in which a Rotate replaces the peer's id. Other peers
// stay.
func TestWatch(t *testing.T) {
	sw := &switcher{peers: p2p.NewPeerSet(), stopped: make(chan p2p.ID, 4)}
	all := members(4)
	for i := range all {
		peer := mock.NewPeer(net.IPv4(127, 0, 0, byte(i+1)))
		require.NoError(t, sw.peers.Add(peer))
		all[i].NodeIds = []string{string(peer.ID())}
		all[i].Address = fmt.Sprintf("%s@127.0.0.1:%d", peer.ID(), 30000+i)
	}
	var state atomic.Pointer[app.State]
	state.Store(&app.State{Participants: all})
	c := config.DefaultConfig()
	c.SetRoot(t.TempDir())
	ad := New(c, Policy{}, all, state.Load)
	require.Empty(t, Configure(c, ad, "").P2P.PersistentPeers)
	require.Len(t, ad.Peers(), len(all))
	quit := make(chan struct{})
	defer close(quit)
	go ad.Watch(sw, log.NewNopLogger(), quit)
	expect := func(change func(p []app.Participant), gone string) {
		t.Helper()
		next := slices.Clone(state.Load().Participants)
		change(next)
		state.Store(&app.State{Participants: next})
		select {
		case id := <-sw.stopped:
			require.Equal(t, gone, string(id))
		case <-time.After(time.Minute):
			t.Fatal("nobody is disconnected")
		}
	}
	expect(func(p []app.Participant) { p[1].Active = false }, all[1].NodeIds[0])
	expect(func(p []app.Participant) { p[2].NodeIds = []string{idOf(9)} }, all[2].NodeIds[0])
	require.Equal(t, 2, sw.peers.Size())
	require.Empty(t, sw.stopped)
}

// TestRelays: relays are persistent peers in addition to those of config.toml or of the chain, and
// are admitted. A node without a listen address has a listener that only its own host reaches.
func TestRelays(t *testing.T) {
	all := members(2)
	all[1].Address = idOf(1) + "@b.example.org:26656"
	relay := func(i int) string { return fmt.Sprintf("%s@r%d.example.org:26656", idOf(i), i) }
	c := config.DefaultConfig()
	c.P2P.ListenAddress = ""
	ad := New(c, Policy{Relays: relay(0xa) + ", " + relay(0xb)}, all, func() *app.State { return nil })
	fitted := Configure(c, ad, "0000000000000000000000000000000000000000")
	require.Equal(t, []string{all[1].Address, relay(0xa), relay(0xb)}, ad.Peers())
	require.Contains(t, fitted.P2P.UnconditionalPeerIDs, idOf(0xb))
	require.Equal(t, "tcp://127.0.0.1:0", fitted.P2P.ListenAddress)
	require.False(t, fitted.P2P.PexReactor)
	require.NoError(t, ad.Admit(idOf(0xa)))
	require.Error(t, ad.Admit(idOf(0xc)))

	c = config.DefaultConfig()
	c.P2P.PersistentPeers = relay(0xa)
	ad = New(c, Policy{Relays: relay(0xa) + "," + relay(0xb)}, all, func() *app.State { return nil })
	require.Empty(t, Configure(c, ad, "000000000000000000000000000000000000000b").P2P.PersistentPeers)
	require.Equal(t, []string{relay(0xa)}, ad.Peers(), "not twice, and not this node")
	Configure(c, ad, "000000000000000000000000000000000000000a")
	require.Equal(t, []string{relay(0xb)}, ad.Peers(), "not this node")

	require.NoError(t, CheckRelays(""))
	require.NoError(t, CheckRelays(relay(1)+" , "+relay(2)))
	for _, bad := range []string{"host:1", idOf(1) + "@host", idOf(1) + "@:1", idOf(1) + "@h:70000", "ab@host:1",
		idOf(1) + "@h:0", idOf(1) + "@a b:1"} {
		require.ErrorContains(t, CheckRelays(bad), "want id@host:port", bad)
	}
}
