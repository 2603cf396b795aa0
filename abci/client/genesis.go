package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
)

// maxGenesis bounds the genesis that a node may send, in bytes.
const maxGenesis = 64 << 20

// Genesis returns the node's genesis, which it reads in chunks: a consortium's genesis may be large.
func (c *Client) Genesis(ctx context.Context) (*types.GenesisDoc, error) {
	var document bytes.Buffer
	for chunk, total := uint(0), 1; int(chunk) < total; chunk++ {
		g, err := c.rpc.GenesisChunked(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("%w: genesis: %w", ErrUnreachable, err)
		}
		data, err := base64.StdEncoding.DecodeString(g.Data)
		if err != nil {
			return nil, fmt.Errorf("genesis: %w", err)
		}
		if document.Write(data); document.Len() > maxGenesis {
			return nil, fmt.Errorf("genesis: more than %d bytes", maxGenesis)
		}
		if total = g.TotalChunks; len(data) == 0 && int(chunk)+1 < total {
			return nil, fmt.Errorf("genesis: chunk %d of %d is empty", chunk, total)
		}
	}
	doc, err := genesis.Read(document.Bytes())
	if err != nil {
		return nil, fmt.Errorf("genesis: %w", err)
	}
	return doc, nil
}
