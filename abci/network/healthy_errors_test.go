package network

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/stage"
)

// TestErrorsOfHealthyNet: a peer that is down, a connection that a peer closed, and a stranger get
// another text. Other errors get none.
func TestErrorsOfHealthyNet(t *testing.T) {
	source := stage.CometBFT(t, "p2p")
	require.Contains(t, source, saidNotDialed)
	require.Contains(t, source, saidPeerStopped)
	for _, err := range []error{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, io.EOF} {
		require.NotEmpty(t, OfHealthyNet(saidNotDialed, []any{"err", err}), err)
	}
	require.NotEmpty(t, OfHealthyNet(saidPeerStopped, []any{"peer", "a", "err", io.EOF}))
	stranger := (admission.New(config.DefaultConfig(), admission.Policy{}, []app.Participant{{Active: true,
		ConsensusKey: []byte{1}, NodeIds: []string{"aa"}}}, func() *app.State { return nil })).Admit("bb")
	require.Error(t, stranger)
	for _, err := range []error{stranger, errors.New("error querying abci app: " + stranger.Error())} {
		require.NotEmpty(t, OfHealthyNet(saidNotDialed, []any{"err", err}), err)
		require.NotEmpty(t, OfHealthyNet(saidPeerStopped, []any{"peer", "a", "err", err}), err)
	}
	require.Empty(t, OfHealthyNet(saidNotDialed, []any{"err", errors.New("incompatible network")}))
	require.Empty(t, OfHealthyNet(saidPeerStopped, []any{"err", errors.New("a message that cannot be decoded")}))
}
