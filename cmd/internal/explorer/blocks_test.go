package explorer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestBlockPage: it has the votes on the block itself, the round of CometBFT, and the blocks beside it.
func TestBlockPage(t *testing.T) {
	n := turning{newFake(6, "node")}
	s := New(n, n, Options{})
	require.NoError(t, s.chain.Look(t.Context()))
	page := get(s, "/block/4").Body.String()
	for _, text := range []string{`<a href="/block/3" rel="prev">`, `<a href="/block/5" rel="next">`, "3 of 3",
		"CometBFT's round 0", "3 validators signed", `<a href="/round/0/2">2</a>`} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, get(s, "/block/7").Body.String(), `rel="next"`, "the last block")
}

// turning is a node whose block 1 begins with a commitment, and block 4 with an aggregate.
type turning struct{ *fake }

func (n turning) Block(ctx context.Context, h *int64) (*ctypes.ResultBlock, error) {
	got, err := n.fake.Block(ctx, h)
	if err != nil {
		return nil, err
	}
	var x *tx.Tx
	switch *h {
	case 1:
		x, err = tx.Sign("c", &tx.Commit{Round: 7, Participant: 1, Hash: make([]byte, 32)}, apptest.Key(0))
	case 4:
		x, err = tx.Sign("c", &tx.Aggregate{Round: 2, Digest: make([]byte, 32)}, apptest.Key(0))
	default:
		return got, nil
	}
	if err == nil {
		got.Block.Txs = cmttypes.Txs{x.Raw}
	}
	return got, err
}

// crowded is a node whose blocks have 1,005 transactions.
type crowded struct{ *fake }

func (n crowded) Block(ctx context.Context, h *int64) (*ctypes.ResultBlock, error) {
	got, err := n.fake.Block(ctx, h)
	for len(got.Block.Txs) < 1005 {
		got.Block.Txs = append(got.Block.Txs, fmt.Appendf(nil, "junk %d", len(got.Block.Txs)))
	}
	return got, err
}

// TestBlockOfACrowd: a block with 1,005 transactions has eleven pages, with each transaction on one of
// them, and none larger than 150 kB.
func TestBlockOfACrowd(t *testing.T) {
	n := crowded{newFake(6, "x")}
	s := New(n, n, Options{})
	require.NoError(t, s.chain.Look(t.Context()))
	height := int64(4)
	block, err := n.Block(t.Context(), &height)
	require.NoError(t, err)
	seen := 0
	for page := range 11 {
		text := get(s, fmt.Sprintf("/block/4?page=%d", page+1)).Body.String()
		require.Less(t, len(text), 150_000)
		require.Equal(t, page < 10, strings.Contains(text, fmt.Sprintf("/block/4?page=%d", page+2)))
		for _, raw := range block.Block.Txs {
			seen += strings.Count(text, fmt.Sprintf("/tx/%x", raw.Hash()))
		}
	}
	require.Equal(t, 1005, seen)
}

// TestCommitmentsSayTheirRound: a block with transactions that closes no round says what they are for.
func TestCommitmentsSayTheirRound(t *testing.T) {
	n := turning{newFake(6, "x")}
	s := New(n, n, Options{})
	for range 2 {
		require.Equal(t, &chainview.Turn{RoundID: params.RoundID{Round: 7}}, s.chain.Reader(t.Context()).Turn(1))
	}
	require.Nil(t, s.chain.Reader(t.Context()).Turn(3), "a block of operations")
	require.NoError(t, s.chain.Look(t.Context()))
	require.Equal(t, 1, strings.Count(get(s, "/blocks").Body.String(), "commits for round 0/7"))
}

// TestBlocksGoOn: a list of blocks that is full leads to the next.
func TestBlocksGoOn(t *testing.T) {
	page := get(over(t, newFake(60, "x"), Options{}), "/blocks").Body.String()
	require.Equal(t, 25, strings.Count(page, `<th scope="row"`))
	require.Contains(t, page, `<a href="/blocks?before=37">Older</a>`, "61 blocks, of which 25 are listed")
}
