package admission

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestStrangersAreLogged: a rejected node is logged with its id, its address and the command that
// lets it in, once in strangerPause. All rejected nodes together take one line in lineInterval.
// Members are not logged.
func TestStrangersAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, out := config.DefaultConfig(), new(bytes.Buffer)
		c.SetRoot("/srv/alice")
		member, all := mock.NewPeer(net.IPv4(127, 0, 0, 9)), members(4)
		all[3].NodeIds = []string{string(member.ID())}
		ad := New(c, Policy{Allowed: idOf(0xaa)}, all, func() *app.State { return nil })
		filter := ad.Filter(log.NewTMLogger(out))
		lines := func(peers ...p2p.Peer) int {
			out.Reset()
			for _, peer := range peers {
				_ = filter(nil, peer)
			}
			return strings.Count(out.String(), "a node is rejected")
		}
		require.NoError(t, filter(nil, member))
		require.Empty(t, out.String())
		require.Zero(t, ad.Rejected().Strangers.Load())

		var crowd []p2p.Peer
		for i := range 10 {
			crowd = append(crowd, mock.NewPeer(net.IPv4(10, 0, 0, byte(i))))
		}
		require.ErrorIs(t, filter(nil, crowd[0]), app.ErrNotParticipant)
		text := out.String()
		require.Contains(t, text, "node="+string(crowd[0].ID()))
		require.Contains(t, text, "address="+crowd[0].SocketAddr().String())
		require.Contains(t, text, fmt.Sprintf("spdl config set p2p.allowed_peers %s,%s --home /srv/alice", idOf(0xaa),
			crowd[0].ID()))
		require.Zero(t, lines(crowd...))
		require.EqualValues(t, 1+len(crowd), ad.Rejected().Strangers.Load(), "each counts, logged or not")
		time.Sleep(lineInterval)
		require.Equal(t, 1, lines(crowd...), "another one")
		require.NotContains(t, out.String(), "node="+string(crowd[0].ID()))
		time.Sleep(strangerPause)
		require.Equal(t, 1, lines(crowd[0], crowd[0]))
	})
}
