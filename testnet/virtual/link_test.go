package virtual

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLink: bytes arrive in order after the delay, wait while the link is held, and end with it.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLink(50*time.Millisecond, &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2})
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
		l.Hold()
		send("more")
		time.AfterFunc(time.Minute, l.Release)
		require.Equal(t, time.Minute+70*time.Millisecond, arrival("more"))
		time.AfterFunc(time.Minute, l.Close)
		_, err := l.B.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		_, err = l.A.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
