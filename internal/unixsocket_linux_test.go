package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/unixsocket"
)

// TestMappedUsers: in a user namespace all users that the namespace does not map look like user
// 65534. A listener does not accept user 65534 as the user of its peer.
func TestMappedUsers(t *testing.T) {
	const whole = "         0          0 4294967295\n"
	const private = "         0          0          1\n       998        998          1\n"
	for _, user := range []uint32{0, 998, 1000, 65534} {
		require.True(t, unixsocket.Maps(whole, user))
		require.Equal(t, user == 0 || user == 998, unixsocket.Maps(private, user))
	}
	path := filepath.Join(t.TempDir(), "s")
	_, err := unixsocket.Listen(path, []uint32{1<<32 - 1}, nil)
	require.ErrorContains(t, err, "is not mapped", "the kernel gives this number to nobody")
	l, err := unixsocket.Listen(path, []uint32{uint32(os.Getuid())}, nil)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
