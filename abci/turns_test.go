package abci

import (
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/stretchr/testify/require"
)

// TestTurns: the turn of a validator that is away is known by the second time around, and no more
// once it has voted, or proposed.
func TestTurns(t *testing.T) {
	const validators = 4
	address := func(place int64) []byte { return []byte{byte(place % validators)} }
	var (
		x      turns
		height int64
		round  int32 // of the block before
	)
	// pass decides a block, while some propose and some vote, and checks whose next turn is taken for lost.
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
		require.Equal(t, want, x.observe(b), "height %d", height)
	}
	all := func(int64) bool { return true }
	rest := func(place int64) bool { return place != 3 }
	for range 8 {
		pass(all, all, false)
	}
	for height < 11 { // its turn of height 11 is lost
		pass(rest, rest, false)
	}
	for range 8 {
		pass(rest, rest, (height+2)%validators == 3)
	}
	require.EqualValues(t, 19, height)
	for range 8 { // it votes, slow as its proposals are; a turn is lost, its next vote counts
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

// TestTurnsOfAnotherSet: what was lost is forgotten with the circle.
func TestTurnsOfAnotherSet(t *testing.T) {
	x := turns{height: 7, lost: []bool{false, true, false}, whose: make([]string, 3)}
	b := &abcitypes.RequestFinalizeBlock{Height: 8, DecidedLastCommit: abcitypes.CommitInfo{Round: 9, Votes: make([]abcitypes.VoteInfo, 4)}}
	require.False(t, x.observe(b))
	require.Equal(t, make([]bool, 4), x.lost)
	require.False(t, (&turns{}).observe(&abcitypes.RequestFinalizeBlock{Height: 1}))
}
