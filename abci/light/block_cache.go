//go:build !js

package light

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// execution returns the block of a verified header in the form that a state executes. It takes the
// block from the cache if the header's hashes show that the block consists of cached transactions.
// Otherwise it fetches the block. Fetching a block with a thousand gradients takes longer than the
// workers need to compute the thousand gradients of the next round.
func (f *verifier) execution(ctx context.Context, b *types.LightBlock) (app.Block, error) {
	height := uint64(b.Height)
	if txs := f.cache.blockFromCache(b.Header); txs != nil {
		return app.Block{Height: height, Txs: txs}, nil
	}
	block, err := f.nodes.current().Block(ctx, height)
	if err != nil {
		return app.Block{}, err
	}
	if err := checkBlock(block, b); err != nil {
		return app.Block{}, fmt.Errorf("%w: block %d: %w", proof.ErrNotProven, height, err)
	}
	execution, err := client.Execution(block)
	f.cache.addKnown(execution.Txs)
	return execution, err
}

// blockFromCache returns the transactions of a header's block if the block consists only of a
// cached aggregate and its cached gradients. Otherwise it returns nil.
func (o *sentCache) blockFromCache(h *types.Header) []*tx.Tx {
	o.mu.Lock()
	defer o.mu.Unlock()
	if made := h.Version.App; made != app.Version && made != 0 || !bytes.Equal(h.EvidenceHash,
		types.EvidenceList(nil).Hash()) {
		return nil
	}
	for _, t := range o.aggregates {
		txs, raws := []*tx.Tx{t}, types.Txs{t.Raw}
		for _, in := range t.Aggregate.Included {
			g := o.byContent(in.Hash)
			if g == nil {
				break
			}
			txs, raws = append(txs, g), append(raws, g.Raw)
		}
		if len(txs) == 1+len(t.Aggregate.Included) && bytes.Equal(raws.Hash(), h.DataHash) {
			return txs
		}
	}
	return nil
}

// byContent returns the cached gradient whose content has the given hash, or nil. The caller holds the lock.
func (o *sentCache) byContent(content []byte) *tx.Tx {
	if len(content) != 32 {
		return nil
	}
	if t := o.sentGradients[[32]byte(content)]; t != nil {
		return t
	}
	return o.draftGradients[[32]byte(content)]
}
