package audit_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/spdl/internal/audit"
)

// doubleVote is evidence that validator i has voted twice at the last height.
func (c *chain) doubleVote(i int32) *types.DuplicateVoteEvidence {
	set := c.comet.LastValidators
	v := set.Validators[i]
	vote := func(of byte) *types.Vote {
		id := types.BlockID{Hash: bytes.Repeat([]byte{of}, 32), PartSetHeader: types.PartSetHeader{Total: 1, Hash: bytes.Repeat([]byte{of}, 32)}}
		vote := &types.Vote{Type: 2, Height: int64(c.state.Height), BlockID: id, Timestamp: c.comet.LastBlockTime, ValidatorAddress: v.Address, ValidatorIndex: i}
		sig, err := c.keys[string(v.Address)].Sign(types.VoteSignBytes(c.doc.ChainID, vote.ToProto()))
		require.NoError(c.t, err)
		vote.Signature = sig
		return vote
	}
	e, err := types.NewDuplicateVoteEvidence(vote(1), vote(2), c.comet.LastBlockTime, set)
	require.NoError(c.t, err)
	return e
}

// TestEvidenceIsVerified: all validators sign a block whose evidence proves nothing. What is proven
// is accepted once.
func TestEvidenceIsVerified(t *testing.T) {
	for name, forge := range map[string]func(*types.DuplicateVoteEvidence){
		"":                   func(*types.DuplicateVoteEvidence) {},
		"verifying VoteA":    func(e *types.DuplicateVoteEvidence) { e.VoteA.Signature = make([]byte, 64) },
		"verifying VoteB":    func(e *types.DuplicateVoteEvidence) { e.VoteB.Signature = make([]byte, 64) },
		"total voting power": func(e *types.DuplicateVoteEvidence) { e.TotalVotingPower++ },
		"validator power":    func(e *types.DuplicateVoteEvidence) { e.ValidatorPower++ },
		"its time":           func(e *types.DuplicateVoteEvidence) { e.Timestamp = e.Timestamp.Add(time.Second) },
		"was not a validator": func(e *types.DuplicateVoteEvidence) {
			e.VoteA.ValidatorAddress, e.VoteB.ValidatorAddress = make([]byte, 20), make([]byte, 20)
		},
		"too old or to come": func(e *types.DuplicateVoteEvidence) { e.VoteA.Height, e.VoteB.Height = 9, 9 },
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 4)
			c.close(3)
			e := c.doubleVote(1)
			forge(e)
			c.block(types.EvidenceList{e}, nil)
			c.add()
			r := run(t, c.source())
			if name == "" {
				require.Nil(t, r.Divergence)
				require.Len(t, r.Offences, 1)
				return
			}
			require.NotNil(t, r.Divergence)
			require.Equal(t, uint64(4), r.Divergence.Height)
			require.Contains(t, r.Divergence.Reason, name)
		})
	}
	for name, blocks := range map[string]int{"one block": 1, "two blocks": 2} {
		t.Run("twice in "+name, func(t *testing.T) {
			c := newChain(t, 4)
			c.close(3)
			e := c.doubleVote(1)
			if blocks == 1 {
				c.block(types.EvidenceList{e, e}, nil)
			} else {
				c.block(types.EvidenceList{e}, nil)
				c.block(types.EvidenceList{e}, nil)
			}
			d := run(t, c.source()).Divergence
			require.NotNil(t, d)
			require.Equal(t, uint64(3+blocks), d.Height)
			require.Contains(t, d.Reason, "on the chain already")
		})
	}
}

// TestHeaderFollows: all validators sign a header that does not follow from the chain before it.
func TestHeaderFollows(t *testing.T) {
	for name, forge := range map[string]func(*types.Block){
		"consensus hash":    func(b *types.Block) { b.ConsensusHash = bytes.Repeat([]byte{1}, 32) },
		"last results hash": func(b *types.Block) { b.LastResultsHash = bytes.Repeat([]byte{1}, 32) },
		"proposer":          func(b *types.Block) { b.ProposerAddress = make([]byte, 20) },
		"is not after":      func(b *types.Block) { b.Time = b.Time.Add(-time.Hour) },
		"time is":           func(b *types.Block) { b.Time = b.Time.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 4)
			c.close(3)
			c.block(nil, forge)
			d := run(t, c.source()).Divergence
			require.NotNil(t, d)
			require.Equal(t, uint64(4), d.Height)
			require.Equal(t, audit.KindBlock, d.Kind)
			require.Contains(t, d.Reason, name)
		})
	}
}
