package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDoors: connections from a crowd of addresses begin few handshakes, and never take the
// handshake of a member at a known address.
func TestDoors(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40, 4000} {
		at := time.Unix(1_700_000_000, 0)
		d := newHandshakeLimiter()
		d.now = func() time.Time { return at }
		d.add("10.0.0.1")
		opened, tries := 0, 0
		const ms = 6000 // duration of a handshake
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
		require.Less(t, handshakeBurst+handshakeRate*ms/1000, maxHandshakes, "and finds a place")
		at = at.Add(addressMemory)
		for range handshakeBurst {
			require.NoError(t, d.admit("10.2.0.1:1"), "later others do, too")
		}
		require.ErrorIs(t, d.admit("10.2.0.1:1"), errTooManyHandshakes)
		require.ErrorIs(t, d.admit("10.0.0.1:1"), errTooManyHandshakes, "an address is forgotten after a day")
	}
}
