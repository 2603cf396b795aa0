package client

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPatience: a request to a node that accepts the connection and never answers ends, even
// without a deadline.
func TestPatience(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := open("tcp://"+l.Addr().String(), MaxAnswer, time.Second)
	require.NoError(t, err)
	begun := time.Now()
	_, err = c.Status(context.Background())
	require.ErrorIs(t, err, ErrUnreachable)
	require.Less(t, time.Since(begun), 30*time.Second)
}
