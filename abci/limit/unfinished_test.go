package limit

import (
	"fmt"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/protoio"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/p2p/mock"
	tmp2p "github.com/cometbft/cometbft/proto/tendermint/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
)

// counting is a peer that has sent a given number of bytes.
type counting struct {
	*mock.Peer
	came int64
}

func (c *counting) Status() (s conn.ConnectionStatus) {
	s.RecvMonitor.Bytes = c.came
	return s
}

// sends counts a whole message of the peer.
func (c *counting) sends(u *unfinishedLimiter, bytes int) {
	c.came += int64(onWire(0x30, bytes))
	u.Finished(c, 0x30, bytes)
}

func newCounting(u *unfinishedLimiter) *counting {
	c := &counting{Peer: mock.NewPeer(nil)}
	u.Track(c)
	return c
}

// TestUnfinishedCrowd: the unfinished messages of all peers together are bounded. The peers with
// the most unfinished bytes for the longest time are disconnected first. A peer that finishes its
// messages stays, however much it sends.
func TestUnfinishedCrowd(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			const most, each = 8 << 20, 1 << 20
			u := &unfinishedLimiter{max: most}
			honest := newCounting(u)
			peers := []p2p.Peer{honest}
			for range k {
				peers = append(peers, newCounting(u))
			}
			gone := map[p2p.Peer]bool{}
			for tick := range 100 {
				for range 50 {
					honest.sends(u, 200_000) // 100 MB a second
				}
				honest.came += 100_000 // a further message is under way
				for _, p := range peers[1:] {
					if c := p.(*counting); tick < 10 {
						c.came += each / 10
						c.sends(u, 100) // and whole messages in between
					}
				}
				var there []p2p.Peer
				for _, p := range peers {
					if !gone[p] {
						there = append(there, p)
					}
				}
				for _, p := range u.peersOverLimit(there) {
					gone[p] = true
				}
				u.Finished(honest, 0x30, 100_000)
			}
			require.NotContains(t, gone, p2p.Peer(honest))
			require.LessOrEqual(t, int64(k-len(gone))*each, int64(most))
			if k*each <= most {
				require.Empty(t, gone, "within the bound")
			}
		})
	}
}

// TestUnfinishedForgivesWhatIsCountedTooHigh: if a peer's packets are larger than packetPayload,
// the counted bytes of its messages are too high. The excess does not offset the unfinished bytes
// of later messages.
func TestUnfinishedForgivesWhatIsCountedTooHigh(t *testing.T) {
	u := &unfinishedLimiter{max: 1 << 20}
	c := newCounting(u)
	for range 1000 {
		c.came += 100_000 // its bytes on the wire as one packet
		u.Finished(c, 0x30, 100_000)
		require.Empty(t, u.peersOverLimit([]p2p.Peer{c}))
	}
	for range 3 {
		u.peersOverLimit([]p2p.Peer{c})
	}
	c.came += 2 << 20
	require.Len(t, u.peersOverLimit([]p2p.Peer{c}), 1)
}

// TestOnWire: the counted bytes are those that CometBFT writes in packets of its default size.
func TestOnWire(t *testing.T) {
	for _, channel := range []byte{0, 0x30, 0x61} {
		for _, bytes := range []int{0, 1, 100, 1023, 1024, 1025, 2048, 100_000} {
			var wire countingWriter
			w := protoio.NewDelimitedWriter(&wire)
			for rest := bytes; ; rest -= packetPayload {
				data := min(rest, packetPayload)
				_, err := w.WriteMsg(&tmp2p.Packet{Sum: &tmp2p.Packet_PacketMsg{PacketMsg: &tmp2p.PacketMsg{
					ChannelID: int32(channel), EOF: rest == data, Data: make([]byte, data),
				}}})
				require.NoError(t, err)
				if rest == data {
					break
				}
			}
			require.Equal(t, int(wire), onWire(channel, bytes), "%d bytes", bytes)
		}
	}
}

// countingWriter counts the written bytes.
type countingWriter int

func (w *countingWriter) Write(data []byte) (int, error) {
	*w += countingWriter(len(data))
	return len(data), nil
}

// TestCapacities: on a small chain the limits of all channels of a peer together are small, and on
// every chain each channel accepts the chain's transactions and blocks.
func TestCapacities(t *testing.T) {
	for _, name := range preset.Names() {
		for _, n := range []int{4, 100} {
			p, err := preset.New(name, n)
			require.NoError(t, err)
			of := MessageSizesOf(config.DefaultConfig(), p, n, p.BlockBytes(n))
			require.True(t, of.Fit(p, n))
			require.Greater(t, int64(of[0x40]), p.BlockBytes(n))
			total := 0
			for _, capacity := range of {
				total += capacity
			}
			if n == 4 {
				require.Less(t, total, 2<<20, name)
			}
			require.Equal(t, SmallMessage, of[0x61], "no sync runs")
			syncing := config.DefaultConfig()
			syncing.StateSync.Enable = true
			require.Greater(t, MessageSizesOf(syncing, p, n, p.BlockBytes(n))[0x61], 8<<20)
		}
	}
}

// TestOutgrown: a node reports that its chain makes larger blocks than the node's limits allow.
func TestOutgrown(t *testing.T) {
	p, err := preset.New(preset.Names()[0], 4)
	require.NoError(t, err)
	of := MessageSizesOf(config.DefaultConfig(), p, 4, p.BlockBytes(4))
	s := &app.State{Progress: app.Progress{BlockBytes: p.BlockBytes(4)}}
	require.NoError(t, of.CheckOutgrown(s))
	s.Progress.BlockBytes *= 2
	require.ErrorIs(t, of.CheckOutgrown(s), ErrOutgrown)
	p.Model.Inputs *= 1000
	require.False(t, of.Fit(p, 4))
}
