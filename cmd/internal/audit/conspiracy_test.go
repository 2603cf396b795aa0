package audit_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/audit"
)

// doubleVote is evidence that validator i has voted twice at the last height.
func doubleVote(c *chain, i int32) *types.DuplicateVoteEvidence {
	set := c.Comet.LastValidators
	v := set.Validators[i]
	vote := func(of byte) *types.Vote {
		id := types.BlockID{Hash: bytes.Repeat([]byte{of}, 32), PartSetHeader: types.PartSetHeader{Total: 1,
			Hash: bytes.Repeat([]byte{of}, 32)}}
		vote := &types.Vote{Type: 2, Height: int64(c.State.Height), BlockID: id, Timestamp: c.Comet.LastBlockTime,
			ValidatorAddress: v.Address, ValidatorIndex: i}
		sig, err := c.Keys[string(v.Address)].Sign(types.VoteSignBytes(c.Doc.ChainID, vote.ToProto()))
		require.NoError(c.T, err)
		vote.Signature = sig
		return vote
	}
	e, err := types.NewDuplicateVoteEvidence(vote(1), vote(2), c.Comet.LastBlockTime, set)
	require.NoError(c.T, err)
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
			c.Close(3)
			e := doubleVote(c, 1)
			forge(e)
			c.Block(types.EvidenceList{e}, nil)
			c.Add()
			r := run(t, c.Source())
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
			c.Close(3)
			e := doubleVote(c, 1)
			if blocks == 1 {
				c.Block(types.EvidenceList{e, e}, nil)
			} else {
				c.Block(types.EvidenceList{e}, nil)
				c.Block(types.EvidenceList{e}, nil)
			}
			d := run(t, c.Source()).Divergence
			require.NotNil(t, d)
			require.Equal(t, uint64(3+blocks), d.Height)
			require.Contains(t, d.Reason, "on the chain already")
		})
	}
}

// lunatic is evidence that three of four validators have signed a header of height 3 that does not
// follow from the chain; the light client trusted height 2.
func lunatic(c *chain) *types.LightClientAttackEvidence {
	header := func(height int64) *types.Header {
		h, err := types.HeaderFromProto(&c.Blocks[height-1].Header)
		require.NoError(c.T, err)
		return &h
	}
	set, trusted, lie := c.Comet.LastValidators, header(3), header(3)
	lie.AppHash = bytes.Repeat([]byte{1}, 32)
	commit := &types.Commit{Height: 3, BlockID: types.BlockID{Hash: lie.Hash(),
		PartSetHeader: types.PartSetHeader{Total: 1, Hash: make([]byte, 32)}}}
	for i, v := range set.Validators {
		commit.Signatures = append(commit.Signatures, types.NewCommitSigAbsent())
		if i == 3 {
			break
		}
		commit.Signatures[i] = types.CommitSig{BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: v.Address,
			Timestamp: lie.Time}
		sig, err := c.Keys[string(v.Address)].Sign(commit.VoteSignBytes(c.Doc.ChainID, int32(i)))
		require.NoError(c.T, err)
		commit.Signatures[i].Signature = sig
	}
	e := &types.LightClientAttackEvidence{
		ConflictingBlock: &types.LightBlock{SignedHeader: &types.SignedHeader{Header: lie, Commit: commit},
			ValidatorSet: set},
		CommonHeight: 2, TotalVotingPower: set.TotalVotingPower(), Timestamp: header(2).Time,
	}
	e.ByzantineValidators = e.GetByzantineValidators(set, &types.SignedHeader{Header: trusted})
	require.Len(c.T, e.ByzantineValidators, 3)
	return e
}

// TestAttacksOnLightClientsAreVerified: a header of height 3 that three validators signed beside
// the chain's convicts them. A block whose evidence accuses others, or proves nothing, is rejected.
func TestAttacksOnLightClientsAreVerified(t *testing.T) {
	for name, forge := range map[string]func(*types.LightClientAttackEvidence){
		"": func(*types.LightClientAttackEvidence) {},
		"invalid commit from conflicting block": func(e *types.LightClientAttackEvidence) {
			e.ConflictingBlock.Commit.Signatures[1] = types.NewCommitSigAbsent()
		},
		"wrong signature": func(e *types.LightClientAttackEvidence) {
			e.ConflictingBlock.Commit.Signatures[0].Signature = make([]byte, 64)
		},
		"total voting power": func(e *types.LightClientAttackEvidence) { e.TotalVotingPower++ },
		"its time":           func(e *types.LightClientAttackEvidence) { e.Timestamp = e.Timestamp.Add(time.Second) },
		"byzantine validators": func(e *types.LightClientAttackEvidence) {
			e.ByzantineValidators = append(e.ByzantineValidators, e.ConflictingBlock.ValidatorSet.Validators[3])
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 4)
			c.Close(4)
			e := lunatic(c)
			forge(e)
			c.Block(types.EvidenceList{e}, nil)
			c.Add()
			r := run(t, c.Source())
			if name == "" {
				require.Nil(t, r.Divergence)
				require.Len(t, r.Offences, 3)
				return
			}
			require.NotNil(t, r.Divergence)
			require.Equal(t, uint64(5), r.Divergence.Height)
			require.Contains(t, strings.ToLower(r.Divergence.Reason), name)
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
			c.Close(3)
			c.Block(nil, forge)
			d := run(t, c.Source()).Divergence
			require.NotNil(t, d)
			require.Equal(t, uint64(4), d.Height)
			require.Equal(t, audit.KindBlock, d.Kind)
			require.Contains(t, d.Reason, name)
		})
	}
}
