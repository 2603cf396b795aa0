package abci

import (
	"slices"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// turns remembers which turns to propose were lost. Validators have equal powers, so CometBFT gives
// them their turns in a circle that moves on by one each height and each of its rounds: the turn of
// round 0 at a height is the one of as many heights before as there are validators. It is this
// node's own estimate, on which only timeouts depend. FinalizeBlock alone calls it.
type turns struct {
	height   int64 // of the last block
	proposer string
	lost     []bool   // by place in the circle
	whose    []string // addresses; "" while a place's is not known
}

// observe takes a decided block, which says who proposed it, and who voted in which round for the
// block before. It reports whether the next height's first turn was lost when it last came, and its
// validator has not voted since.
func (t *turns) observe(b *abcitypes.RequestFinalizeBlock) (lost bool) {
	votes, round := b.DecidedLastCommit.Votes, int64(b.DecidedLastCommit.Round)
	n := int64(len(votes))
	if n != int64(len(t.lost)) || b.Height != t.height+1 {
		t.lost, t.whose = make([]bool, n), make([]string, n)
	} else if n > 0 {
		for at := t.height; at < t.height+min(round, n); at++ {
			t.lost[at%n] = true
		}
		place := (t.height + round) % n
		t.lost[place], t.whose[place] = false, t.proposer
	}
	for _, v := range votes {
		if v.BlockIdFlag == cmtproto.BlockIDFlagAbsent {
			continue
		}
		if place := slices.Index(t.whose, string(v.Validator.Address)); place >= 0 {
			t.lost[place] = false
		}
	}
	t.height, t.proposer = b.Height, string(b.ProposerAddress)
	return n > 0 && t.lost[(b.Height+1)%n]
}
