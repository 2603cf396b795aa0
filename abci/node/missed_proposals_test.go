package node

import (
	"strings"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestTurns: a validator's missed turn is detected on its next rotation, and forgotten once the
// validator has voted or proposed.
func TestTurns(t *testing.T) {
	const validators = 4
	address := func(place int64) []byte { return []byte{byte(place % validators)} }
	var (
		x      missedProposals
		height int64
		round  int32 // the round of the block before
	)
	// pass decides a block with the given proposers and voters, and checks whether the next turn is
	// expected to be missed.
	pass := func(proposes, votes func(place int64) bool, want bool) {
		t.Helper()
		height++
		b := &abcitypes.RequestFinalizeBlock{Height: height, DecidedLastCommit: abcitypes.CommitInfo{Round: round}}
		for i := range int64(validators) {
			v := abcitypes.VoteInfo{Validator: abcitypes.Validator{Address: address(i)}, BlockIdFlag: cmtproto.BlockIDFlagAbsent}
			if votes(i) {
				v.BlockIdFlag = cmtproto.BlockIDFlagCommit
			}
			b.DecidedLastCommit.Votes = append(b.DecidedLastCommit.Votes, v)
		}
		for round = 0; !proposes((height + int64(round)) % validators); {
			round++
		}
		b.ProposerAddress = address(height + int64(round))
		require.Equal(t, want, x.observe(b, nil), "height %d", height)
	}
	all := func(int64) bool { return true }
	rest := func(place int64) bool { return place != 3 }
	for range 8 {
		pass(all, all, false)
	}
	for height < 11 { // the last validator misses its turn of height 11
		pass(rest, rest, false)
	}
	for range 8 {
		pass(rest, rest, (height+2)%validators == 3)
	}
	require.EqualValues(t, 19, height)
	for range 8 { // its proposals are slow, but it votes: after a missed turn its next vote counts
		pass(rest, all, false)
	}
	pass(rest, rest, false)
	for height < 35 {
		pass(rest, rest, (height+2)%validators == 3)
	}
	for height%validators != 2 {
		pass(rest, rest, (height+2)%validators == 3)
	}
	pass(all, rest, false) // it proposes in time
	for range 8 {
		pass(all, rest, false)
	}
}

// block returns the request for a decided height with four validators: the proposer of the block,
// and the round and the votes of the commit of the previous block.
func block(height int64, proposer string, round int32, votes string) *abcitypes.RequestFinalizeBlock {
	b := &abcitypes.RequestFinalizeBlock{Height: height, ProposerAddress: []byte(proposer),
		DecidedLastCommit: abcitypes.CommitInfo{Round: round}}
	for _, address := range []string{"a", "b", "c", "d"} {
		v := abcitypes.VoteInfo{Validator: abcitypes.Validator{Address: []byte(address)},
			BlockIdFlag: cmtproto.BlockIDFlagAbsent}
		if strings.Contains(votes, address) {
			v.BlockIdFlag = cmtproto.BlockIDFlagCommit
		}
		b.DecidedLastCommit.Votes = append(b.DecidedLastCommit.Votes, v)
	}
	return b
}

// known is a node that has seen all four validators, in the order of their names, propose up to
// height 9. The next turn of d is at height 11.
func known(t *testing.T) *missedProposals {
	t.Helper()
	x := new(missedProposals)
	for height := int64(1); height < 10; height++ {
		require.False(t, x.observe(block(height, string("abcd"[height%4]), 0, "abcd"), nil))
	}
	return x
}

// TestTurnOfAStraggler: the vote of the slowest validator is in no commit. After a missed turn it
// gets the full timeout if its gradient is in the round, and the short timeout if it sends nothing.
func TestTurnOfAStraggler(t *testing.T) {
	for _, gradient := range []bool{true, false} {
		x := known(t)
		x.observe(block(10, "c", 0, "abc"), nil)
		x.observe(block(11, "a", 0, "abc"), nil)
		x.observe(block(12, "a", 1, "abc"), nil) // height 11 was the turn of d
		var included []string
		if gradient {
			included = []string{"a", "b", "c", "d"}
		}
		x.observe(block(13, "b", 0, "abc"), included)
		require.Equal(t, !gradient, x.observe(block(14, "c", 0, "abc"), nil))
	}
}

// TestTurnWithAnEarlierBlock: a block that is proposed again by a later proposer names the first
// proposer. Such a block is no evidence about the later proposer. While the first proposer is down,
// the votes of the later proposer keep the timeout for its own turn full.
func TestTurnWithAnEarlierBlock(t *testing.T) {
	x := known(t)
	for _, b := range []*abcitypes.RequestFinalizeBlock{
		block(10, "c", 0, "abcd"), block(11, "d", 0, "abcd"),
		block(12, "a", 0, "abcd"), block(13, "b", 3, "bcd"), // a's block of height 12, proposed by d in round 3
		block(14, "c", 0, "bcd"), block(15, "b", 0, "bcd"), block(16, "b", 2, "bcd"), // height 15 was the turn of d
		block(17, "b", 1, "bcd"),
	} {
		x.observe(b, nil)
	}
	require.False(t, x.observe(block(18, "c", 0, "bcd"), nil))
	require.Equal(t, []string{"a", "b", "c", "d"}, x.proposers)
}

// TestTurnsOfAnotherSet: missed turns are forgotten when the validator set changes, even if one
// validator replaces another.
func TestTurnsOfAnotherSet(t *testing.T) {
	for _, votes := range []int{3, 4, 5} {
		x := known(t)
		x.missed[11%4] = true
		require.True(t, x.observe(block(10, "c", 0, "abc"), nil))
		x = known(t)
		x.missed[11%4] = true
		b := block(10, "c", 9, "abc")
		b.DecidedLastCommit.Votes = append(b.DecidedLastCommit.Votes, b.DecidedLastCommit.Votes...)[:votes]
		b.DecidedLastCommit.Votes[0].Validator.Address = []byte("new")
		require.False(t, x.observe(b, nil))
		require.Equal(t, make([]bool, votes), x.missed)
	}
	require.False(t, (&missedProposals{}).observe(&abcitypes.RequestFinalizeBlock{Height: 1}, nil))
}

// TestIncludedValidators: the addresses are CometBFT's. A participant without a validator has none.
func TestIncludedValidators(t *testing.T) {
	key := ed25519.GenPrivKey().PubKey()
	s := &app.State{Participants: []app.Participant{{}, {ConsensusKey: make([]byte, 32)}, {ConsensusKey: key.Bytes()}}}
	r := &app.Record{Contributions: []app.Contribution{{Participant: 0}, {Participant: 2}}}
	require.Equal(t, []string{string(key.Address())}, includedValidators(s, r))
	require.Empty(t, includedValidators(s, nil))
}
