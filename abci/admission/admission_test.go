package admission

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
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
// its operator allows, and no other node. If some member with a validator has registered no node,
// it admits all.
func TestAdmission(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "config"), 0o700))
	allowed := " " + strings.ToUpper(idOf(0xaa)) + ", " + idOf(0xbb)
	c := config.DefaultConfig()
	c.SetRoot(home)
	c.P2P.PersistentPeers = idOf(0xcc) + "@host:26656"
	var s *app.State
	ad := New(c, false, allowed, members(3), func() *app.State { return s })
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

	rewrite := func(allowed string, ahead time.Duration) {
		file := filepath.Join(home, "config", "app.toml")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "[p2p]\nallowed_peers = %q\n", allowed), 0o600))
		at := time.Now().Add(ahead) // so that a file system with coarse times shows the change too
		require.NoError(t, os.Chtimes(file, at, at))
		ad.reread(log.NewNopLogger())
	}
	rewrite(stranger, time.Hour)
	require.NoError(t, ad.Admit(stranger), "app.toml was changed")
	require.Error(t, ad.Admit(idOf(0xaa)))
	require.ErrorContains(t, CheckPeerIDs("nobody"), "allowed_peers")
	rewrite("nobody", 2*time.Hour)
	require.NoError(t, ad.Admit(stranger), "what cannot be read changes nothing")

	all = members(4)
	all[2].NodeIds = nil
	s = &app.State{Participants: all}
	require.NoError(t, ad.Admit(idOf(0xee)), "who has named no node would be kept out")
	require.NoError(t, New(c, true, allowed, members(3), func() *app.State { return nil }).Admit(idOf(0xee)))
}

// TestConnect: CometBFT asks the application which peers to admit, and strangers take no slot of
// members or of the peers in config.toml and app.toml. If config.toml has no persistent peers, they
// come from the chain, except for addresses that do not name one of the member's own nodes.
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
	fitted := Configure(c, New(c, false, idOf(0xaa), all, func() *app.State { return nil }),
		"0000000000000000000000000000000000000000")
	require.True(t, fitted.FilterPeers)
	require.False(t, c.FilterPeers, "the home's own stays as it is")
	require.Equal(t, idOf(1)+"@b.example.org:26656", fitted.P2P.PersistentPeers)
	require.Equal(t, strings.Join([]string{idOf(1), idOf(2), idOf(3), idOf(4), idOf(5), idOf(0xaa), idOf(0xbb)}, ","),
		fitted.P2P.UnconditionalPeerIDs)
	require.NoError(t, fitted.ValidateBasic())

	c = config.DefaultConfig()
	c.P2P.PersistentPeers = idOf(9) + "@host:1"
	fitted = Configure(c, New(c, false, "", nil, func() *app.State { return nil }), "")
	require.Equal(t, c.P2P.PersistentPeers, fitted.P2P.PersistentPeers)
	require.Equal(t, idOf(9), fitted.P2P.UnconditionalPeerIDs, "also of an open chain: persistent peers need no slots")
	require.Equal(t, c.P2P.MaxNumInboundPeers, fitted.P2P.MaxNumInboundPeers)
}
