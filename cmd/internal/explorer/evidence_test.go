package explorer

import (
	"context"
	"strings"
	"testing"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// judge is a node whose block has evidence against a validator.
type judge struct {
	*fake
	asked int
}

func (n *judge) Block(context.Context, *int64) (*ctypes.ResultBlock, error) {
	n.asked++
	vote := func(i byte) *cmttypes.Vote {
		return &cmttypes.Vote{Type: cmtproto.PrecommitType, Height: 7, Round: 1, ValidatorAddress: key(3).Address(),
			BlockID: cmttypes.BlockID{Hash: []byte{i}}, Signature: []byte{i}}
	}
	return &ctypes.ResultBlock{Block: &cmttypes.Block{Evidence: cmttypes.EvidenceData{
		Evidence: cmttypes.EvidenceList{&cmttypes.DuplicateVoteEvidence{VoteA: vote(1), VoteB: vote(2)}}}}}, nil
}

// TestProofOfDoubleVote: the two votes of a validator come from the block that proved them, and are
// asked for once.
func TestProofOfDoubleVote(t *testing.T) {
	n := &judge{fake: newFake(6, "x")}
	r := chainview.New(n, n, chainview.Options{}).Reader(t.Context())
	o := app.Offence{Participant: 3, Misbehavior: 1, Voted: 7, Height: 9, Evidence: key(3)}
	for range 2 {
		p := r.Proof(o)
		require.NotNil(t, p.Pair)
		require.Equal(t, "Both are a precommit of the validator for height 7, CometBFT's round 1", p.Pair.Both)
		require.Equal(t, chainview.StatementRow{Name: "Block", First: "01", Second: "02"}, p.Pair.Rows[0])
	}
	require.Equal(t, 1, n.asked)
	o.Voted = 8
	require.Nil(t, r.Proof(o).Pair, "another height")
}

// TestEvidencePage: an offence is told in words, with the block that proved it.
func TestEvidencePage(t *testing.T) {
	page := get(over(t, newFake(6, "node"), Options{}), "/evidence").Body.String()
	for _, text := range []string{"two different gradients in <a href=\"/round/0/0\">round 0/0</a>", "lost its reputation",
		"node</bdi> (#3)", `<a href="/block/2">2</a>`} {
		require.Contains(t, page, text)
	}
	require.Equal(t, 1, strings.Count(page, "<section"))
}
