package network

import (
	"errors"
	"io"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/stage"
)

// TestErrorsOfHealthyNet: a connection that a peer closed, and a stranger get another text. Other errors get none.
func TestErrorsOfHealthyNet(t *testing.T) {
	source := stage.CometBFT(t, "p2p", "blocksync")
	require.Contains(t, source, saidPeerStopped)
	require.Contains(t, source, `Error("`+saidPeerSilent+`", "`)
	require.NotEmpty(t, OfHealthyNet(saidPeerSilent, []any{"peer", "a", "timeout", "15s"}))
	require.NotEmpty(t, OfHealthyNet(saidPeerStopped, []any{"peer", "a", "err", io.EOF}))
	stranger := (admission.New(config.DefaultConfig(), admission.Policy{}, []app.Participant{{Active: true,
		ConsensusKey: []byte{1}, NodeIds: []string{"aa"}}}, func() *app.State { return nil })).Admit("bb")
	require.Error(t, stranger)
	for _, err := range []error{stranger, errors.New("error querying abci app: " + stranger.Error())} {
		require.NotEmpty(t, OfHealthyNet(saidPeerStopped, []any{"peer", "a", "err", err}), err)
	}
	require.Empty(t, OfHealthyNet("Error adding peer", []any{"err", io.EOF}))
	require.Empty(t, OfHealthyNet(saidPeerStopped, []any{"err", errors.New("a message that cannot be decoded")}))
}
