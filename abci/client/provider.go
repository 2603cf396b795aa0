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
	return safeProvider{lighthttp.NewWithClient(chainID, c.rpc)}
}

// safeProvider turns a panic into ErrBadLightBlock. CometBFT v0.40.0 panics on an answer without a header.
type safeProvider struct{ provider.Provider }

func (p safeProvider) LightBlock(ctx context.Context, height int64) (b *types.LightBlock, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, provider.ErrBadLightBlock{Reason: fmt.Errorf("the node's answer is none: %v", r)}
		}
	}()
	return p.Provider.LightBlock(ctx, height)
}
