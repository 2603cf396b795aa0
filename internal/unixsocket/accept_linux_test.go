package unixsocket

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMappedUsers: in a user namespace all users that the namespace does not map look like user
// 65534. A listener does not accept user 65534 as the user of its peer.
func TestMappedUsers(t *testing.T) {
	const whole = "         0          0 4294967295\n"
	const private = "         0          0          1\n       998        998          1\n"
	for _, user := range []uint32{0, 998, 1000, 65534} {
		require.True(t, hasUser(whole, user))
		require.Equal(t, user == 0 || user == 998, hasUser(private, user))
	}
	require.NoError(t, checkUsers([]uint32{uint32(os.Getuid())}))
	require.ErrorContains(t, checkUsers([]uint32{1<<32 - 1}), "is not mapped", "the kernel gives this number to nobody")
}
