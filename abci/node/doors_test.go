package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDoors: a crowd of addresses begins few handshakes, and none of them in the place of a member's
// at a known address.
func TestDoors(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40, 4000} {
		at := time.Unix(1_700_000_000, 0)
		d := newDoors()
		d.now = func() time.Time { return at }
		d.knows("10.0.0.1")
		opened, tries := 0, 0
		const ms = 6000 // a handshake's time
		for range ms {
			at = at.Add(time.Millisecond)
			for i := range min(k, 4) { // each comes again and again
				tries++
				if d.opens(fmt.Sprintf("10.1.%d.%d:1", i/250, tries%k)) == nil {
					opened++
				}
			}
			require.NoError(t, d.opens("10.0.0.1:40000"), "a member comes in")
		}
		require.LessOrEqual(t, opened, doorBurst+doorRate*ms/1000+1)
		require.Less(t, doorBurst+doorRate*ms/1000, handshakes, "and finds a place")
		at = at.Add(doorMemory)
		for range doorBurst {
			require.NoError(t, d.opens("10.2.0.1:1"), "later others do, too")
		}
		require.ErrorIs(t, d.opens("10.2.0.1:1"), errDoor)
		require.ErrorIs(t, d.opens("10.0.0.1:1"), errDoor, "an address is forgotten after a day")
	}
}
