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
	"github.com/spdl/spdl/app/tx"
)

// TestStatements: evidence shows where its two statements differ.
func TestStatements(t *testing.T) {
	a := &tx.GradientHeader{Participant: 3, Round: 2, PayloadHash: make([]byte, 32), VrfProof: make([]byte, 80)}
	b := &tx.GradientHeader{Participant: 3, Round: 2, PayloadHash: append(make([]byte, 31), 1), VrfProof: make([]byte, 80)}
	first, err := a.Marshal()
	require.NoError(t, err)
	second, err := b.Marshal()
	require.NoError(t, err)
	e := &tx.Evidence{Kind: uint32(tx.KindGradient), First: first, Second: second,
		FirstSignature: []byte{1}, SecondSignature: []byte{2}}
	got := statementsOf(e)
	require.NotNil(t, got)
	require.Equal(t, "Both are a gradient of participant #3 for round 2 of epoch 0", got.Both)
	var differ []bool
	for _, row := range got.Rows {
		differ = append(differ, row.Differ())
	}
	require.Equal(t, []bool{true, false, true}, differ)
	require.Nil(t, statementsOf(&tx.Evidence{Kind: 1, First: first, Second: first}))
}

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
	s := newSource(n, n)
	o := app.Offence{Participant: 3, Misbehavior: 1, Voted: 7, Height: 9, Evidence: key(3)}
	for range 2 {
		p := s.proofOf(t.Context(), o)
		require.NotNil(t, p.Pair)
		require.Equal(t, "Both are a precommit of the validator for height 7, CometBFT's round 1", p.Pair.Both)
		require.Equal(t, statementRow{"Block", "01", "02"}, p.Pair.Rows[0])
	}
	require.Equal(t, 1, n.asked)
	require.Contains(t, offenceLine{Offence: o}.Means(), "CometBFT proved it")
	o.Voted = 8
	require.Nil(t, s.proofOf(t.Context(), o).Pair, "another height")
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
