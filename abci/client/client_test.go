package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
)

// TestAddress: an address that no node can have is rejected at once, without a request.
func TestAddress(t *testing.T) {
	for _, good := range []string{
		"127.0.0.1:26657", "localhost:26657", "tcp://127.0.0.1:26657", "tcp://0.0.0.0:26657", "tcp://localhost:1",
		"tcp://[::1]:65535", "http://node.example:80",
		"https://name:word@node.example:443/rpc", "unix:///var/run/rpc.sock",
	} {
		_, err := client.New(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", "foo", "localhost", "//127.0.0.1:26657", "tcp:127.0.0.1:26657", "tcp://127.0.0.1",
		"tcp://127.0.0.1:", "tcp://:26657", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536", "http://node.example",
		"ftp://127.0.0.1:26657",
		"unix://", "http://%zz:1",
	} {
		_, err := client.New(bad)
		require.ErrorContains(t, err, `"`+bad+`"`, bad)
	}
}
