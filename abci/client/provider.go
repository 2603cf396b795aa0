package client

import (
	"context"
	"fmt"

	"github.com/cometbft/cometbft/light/provider"
	lighthttp "github.com/cometbft/cometbft/light/provider/http"
	"github.com/cometbft/cometbft/types"
)

// Provider returns the node as a light client asks it.
func (c *Client) Provider(chainID string) provider.Provider {
	return careful{lighthttp.NewWithClient(chainID, c.rpc)}
}

// careful takes a panic for a bad light block: v0.40.0 does not look whether an
// answer has a header before it reads it.
type careful struct{ provider.Provider }

func (p careful) LightBlock(ctx context.Context, height int64) (b *types.LightBlock, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, provider.ErrBadLightBlock{Reason: fmt.Errorf("the node's answer is none: %v", r)}
		}
	}()
	return p.Provider.LightBlock(ctx, height)
}
