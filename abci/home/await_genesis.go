package home

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/internal/wait"
)

// AwaitGenesis waits until the genesis time of a home or until ctx ends, and logs that it waits. It must be called
// before the node's start. CometBFT waits too, but logs that only at level info, and no signal ends CometBFT's wait.
func AwaitGenesis(ctx context.Context, c *config.Config, logger log.Logger) error {
	doc, err := ReadGenesis(c)
	if err != nil {
		return err
	}
	ahead := time.Until(doc.GenesisTime)
	if ahead <= 0 {
		return nil
	}
	logger.With("module", "app").Error("the genesis time is ahead of this host's clock: waiting for it", "genesis_time",
		doc.GenesisTime, "wait", ahead.Round(time.Second))
	return wait.For(ctx, ahead)
}
