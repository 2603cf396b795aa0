package node

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
)

// Parts of CometBFT's errors, for which it has no types. A test searches its source for them.
const saidNoSync, saidOtherHash = "failed to start state sync", "expected header's hash"

// syncError adds to the error of a state sync that did not start which key of config.toml is wrong, and its remedy.
func syncError(err error, c *config.StateSyncConfig) error {
	if !strings.Contains(err.Error(), saidNoSync) {
		return err
	}
	wrong := "check statesync.trust_height and trust_hash"
	switch {
	case errors.Is(err, light.ErrNoWitnesses), errors.As(err, new(*net.OpError)):
		return fmt.Errorf("state sync: want two statesync.rpc_servers that answer, each HOST:PORT of a member's rpc.laddr, "+
			"have %q: %w", c.RPCServers, err)
	case strings.Contains(err.Error(), saidOtherHash):
		wrong = "statesync.trust_hash is not the hash of that header, or statesync.rpc_servers are of another chain"
	case errors.Is(err, provider.ErrHeightTooHigh), errors.Is(err, provider.ErrLightBlockNotFound):
		wrong = "the first of statesync.rpc_servers has no header of statesync.trust_height"
	}
	return fmt.Errorf("state sync from height %d: %s: take both from a member that you trust, whose `spdl status --node "+
		"tcp://HOST:26657` has them as latest_block_height and latest_block_hash: %w", c.TrustHeight, wrong, err)
}
