package testnet

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet/link"
)

// echoes starts nodes that send back what they get.
func echoes(t *testing.T, n int) []string {
	t.Helper()
	var nodes []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				all.Go(func() { defer c.Close(); _, _ = io.Copy(c, c) })
			}
		})
		t.Cleanup(func() { l.Close(); all.Wait() })
		nodes = append(nodes, l.Addr().String())
	}
	return nodes
}

func switched(t *testing.T, nodes []string) *link.Switch {
	t.Helper()
	s, err := link.New(nodes)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func dial(t *testing.T, s *link.Switch, from, to int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Address(from, to))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// trip sends some bytes and waits for their echo.
func trip(t *testing.T, c net.Conn, bytes int) time.Duration {
	t.Helper()
	start := time.Now()
	go func() { _, _ = c.Write(make([]byte, bytes)) }()
	_, err := io.ReadFull(c, make([]byte, bytes))
	require.NoError(t, err)
	return time.Since(start)
}

// TestCutHoldsWhatIsSentAndHealingDeliversIt: each way by itself, on a connection that stays open,
// and on no other pair's.
func TestCutHoldsWhatIsSentAndHealingDeliversIt(t *testing.T) {
	s := switched(t, echoes(t, 3))
	c, other := dial(t, s, 0, 1), dial(t, s, 0, 2)
	trip(t, c, 100)
	for _, way := range [][2]int{{0, 1}, {1, 0}} {
		s.Set(way[0], way[1], link.Rule{Cut: true})
		_, err := c.Write([]byte("held"))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = c.Read(make([]byte, 4))
		require.Error(t, err, "nothing passes")
		trip(t, other, 100)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		s.Set(way[0], way[1], link.Rule{})
		got := make([]byte, 4)
		_, err = io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, "held", string(got))
	}
}

// TestDelayLossAndRateSlowAConnectionDown: by no less than they say.
func TestDelayLossAndRateSlowAConnectionDown(t *testing.T) {
	s := switched(t, echoes(t, 2))
	for name, x := range map[string]struct {
		rule  link.Rule
		bytes int
		least time.Duration
	}{
		"delay one way": {link.Rule{Delay: 50 * time.Millisecond}, 100, 50 * time.Millisecond},
		"rate":          {link.Rule{Rate: 1 << 20}, 256 << 10, 240 * time.Millisecond},
	} {
		d := dial(t, s, 0, 1)
		s.Set(0, 1, x.rule)
		require.GreaterOrEqual(t, trip(t, d, x.bytes), x.least, name)
	}
	const again = 200 * time.Millisecond // until what was lost is sent once more
	lossy, lost, random := link.Rule{Loss: 0.5, Delay: time.Millisecond}, 0, rand.New(rand.NewPCG(1, 0))
	for range 1000 {
		d := lossy.Lag(1, random)
		require.Zero(t, (d-time.Millisecond)%(again+2*time.Millisecond))
		if d > again {
			lost++
		}
	}
	require.InDelta(t, 500, lost, 100, "more than six standard deviations off")
}

// TestAnEndOnOneSideEndsTheOther: and a node that is down has no link.
func TestAnEndOnOneSideEndsTheOther(t *testing.T) {
	nodes := echoes(t, 2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down := l.Addr().String()
	l.Close()
	s := switched(t, append(nodes, down))
	_, err = dial(t, s, 0, 2).Read(make([]byte, 1))
	require.Error(t, err)
	c := dial(t, s, 0, 1)
	trip(t, c, 10)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// TestCloseEndsWhatIsCut: nothing waits without end.
func TestCloseEndsWhatIsCut(t *testing.T) {
	s, err := link.New(echoes(t, 2))
	require.NoError(t, err)
	c := dial(t, s, 0, 1)
	trip(t, c, 10)
	s.Set(0, 1, link.Rule{Cut: true})
	_, err = c.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
}

func TestRuleRefuses(t *testing.T) {
	require.NoError(t, link.Rule{Cut: true, Delay: 1, Jitter: 1, Loss: 0.9, Rate: 1}.Check())
	for says, r := range map[string]link.Rule{
		"delay -1ns":             {Delay: -1},
		"loss is 0.91":           {Loss: 0.91},
		"loss is -0.1":           {Loss: -0.1},
		"rate is -1 bytes a sec": {Rate: -1},
	} {
		require.ErrorContains(t, r.Check(), says)
	}
}
