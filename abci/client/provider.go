package client

import (
	"context"
	"fmt"

	"github.com/cometbft/cometbft/light/provider"
	lighthttp "github.com/cometbft/cometbft/light/provider/http"
	"github.com/cometbft/cometbft/types"
)

// Provider returns this node as a provider for CometBFT's light client.
func (c *Client) Provider(chainID string) provider.Provider {
	return careful{lighthttp.NewWithClient(chainID, c.rpc)}
}

// careful turns a panic into ErrBadLightBlock. CometBFT v0.40.0 panics on an answer without a
// header.
type careful struct{ provider.Provider }

func (p careful) LightBlock(ctx context.Context, height int64) (b *types.LightBlock, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, provider.ErrBadLightBlock{Reason: fmt.Errorf("the node's answer is none: %v", r)}
		}
	}()
	return p.Provider.LightBlock(ctx, height)
}
