package virtual

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet/link"
)

// TestLink: bytes arrive in order after the delay, do not arrive while the link is cut, and are
// lost when it closes.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLink(1, &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2})
		far := link.Rule{Delay: 50 * time.Millisecond}
		l.Set(far, far)
		require.Equal(t, l.A.LocalAddr(), l.B.RemoteAddr())
		start := time.Now()
		arrival := func(want string) time.Duration {
			got := make([]byte, len(want))
			_, err := io.ReadFull(l.B, got)
			require.NoError(t, err)
			require.Equal(t, want, string(got))
			return time.Since(start)
		}
		send := func(text string) {
			_, err := l.A.Write([]byte(text))
			require.NoError(t, err)
		}
		send("on")
		time.Sleep(20 * time.Millisecond)
		send("ce")
		require.Equal(t, 50*time.Millisecond, arrival("o"))
		require.Equal(t, 70*time.Millisecond, arrival("nce"))
		l.Set(far, link.Rule{Cut: true})
		send("more")
		time.AfterFunc(time.Minute, func() { l.Set(far, far) })
		require.Equal(t, time.Minute+70*time.Millisecond, arrival("more"))
		l.Set(far, link.Rule{Rate: 1000})
		send("x")
		send("y")
		require.Equal(t, time.Minute+72*time.Millisecond, arrival("xy"))
		l.Set(far, link.Rule{Cut: true})
		before := time.Now()
		_, err := l.A.Write(make([]byte, window))
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { l.Set(far, link.Rule{}) })
		go func() { _, _ = io.CopyN(io.Discard, l.B, 1) }()
		send("z") // once there is room in the window
		require.Equal(t, time.Second, time.Since(before))
		time.AfterFunc(time.Minute, l.Close)
		_, err = io.Copy(io.Discard, l.B)
		require.NoError(t, err)
		_, err = l.A.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
