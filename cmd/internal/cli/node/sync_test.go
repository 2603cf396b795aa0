package node

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// TestSyncError: the error of a state sync that did not start names the key that is wrong and where to get its value,
// and CometBFT still says so.
func TestSyncError(t *testing.T) {
	source := stage.CometBFT(t, "node", "light")
	require.Contains(t, source, saidNoSync)
	require.Contains(t, source, saidOtherHash)
	c := &config.StateSyncConfig{TrustHeight: 12, RPCServers: []string{"a:1", "b:2"}}
	for said, cause := range map[string]error{
		"height 12: statesync.trust_hash is not the hash of that header":        errors.New(saidOtherHash + " A"),
		"height 12: the first of statesync.rpc_servers has no header":           provider.ErrHeightTooHigh,
		"statesync.trust_height: take both from a member that you trust, whose": provider.ErrLightBlockNotFound,
		"two statesync.rpc_servers that answer":                                 light.ErrNoWitnesses,
		`have ["a:1" "b:2"]`:                                                    &net.OpError{Err: errors.New("refused")},
		"check statesync.trust_height and trust_hash: take both from a member":  errors.New("expired"),
	} {
		err := syncError(fmt.Errorf(saidNoSync+": %w", cause), c)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, said)
	}
	other := errors.New("other")
	require.Equal(t, other, syncError(other, c))
}
