package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDoors: connections from many unknown addresses begin few handshakes, and never prevent the
// handshake of a member at a known address.
func TestDoors(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40, 4000} {
		at := time.Unix(1_700_000_000, 0)
		d := newHandshakeLimiter()
		d.now = func() time.Time { return at }
		d.add("10.0.0.1")
		opened, tries := 0, 0
		const ms = 6000 // the duration of a handshake in milliseconds
		for range ms {
			at = at.Add(time.Millisecond)
			for i := range min(k, 4) { // each address connects again and again
				tries++
				if d.admit(fmt.Sprintf("10.1.%d.%d:1", i/250, tries%k)) == nil {
					opened++
				}
			}
			require.NoError(t, d.admit("10.0.0.1:40000"), "a member comes in")
		}
		require.LessOrEqual(t, opened, handshakeBurst+handshakeRate*ms/1000+1)
		require.Less(t, handshakeBurst+handshakeRate*ms/1000, minInbound, "and finds a place")
		at = at.Add(addressMemory)
		for i := range handshakeBurst {
			require.NoError(t, d.admit(fmt.Sprintf("10.2.0.%d:1", i)), "later others do, too")
		}
		require.ErrorIs(t, d.admit("10.3.0.1:1"), errTooManyHandshakes)
		require.ErrorIs(t, d.admit("10.0.0.1:1"), errTooManyHandshakes, "an address is forgotten after a day")
	}
}

// TestCrowdBehindFewAddresses: each address begins one handshake in addressPause, and all addresses
// of an IPv6 /64 network together begin one. So a newcomer at its own address need not wait for the
// crowd.
func TestCrowdBehindFewAddresses(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	d := newHandshakeLimiter()
	d.now = func() time.Time { return at }
	opened := 0
	for i := range 60_000 {
		at = at.Add(time.Millisecond)
		if d.admit(fmt.Sprintf("10.1.0.%d:%d", i%20, i)) == nil {
			opened++
		}
		if d.admit(fmt.Sprintf("[2001:db8::%x]:1", i)) == nil {
			opened++
		}
	}
	require.Equal(t, 21*int(time.Minute/addressPause), opened)
	require.NoError(t, d.admit("10.2.0.1:1"))
	require.NoError(t, d.admit("[2001:db8:0:1::1]:1"))
	require.ErrorIs(t, d.admit("[::ffff:10.2.0.1]:2"), errTooManyHandshakes)
}
