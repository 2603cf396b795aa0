package abci

import (
	"crypto/sha256"
	"slices"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"

	"github.com/spdl/spdl/app"
)

// turns remembers which turns to propose were lost. Validators have equal powers, so CometBFT gives
// them their turns in a circle that moves on by one each height and each of its rounds: the turn of
// round 0 at a height is the one of as many heights before as there are validators. It is this
// node's own estimate, on which only timeouts depend. FinalizeBlock alone calls it.
type turns struct {
	height     int64 // of the last block
	proposer   string
	validators []string // addresses, in the order of commits
	lost       []bool   // by place in the circle
	whose      []string // addresses; "" while a place's is not known
}

// observe takes a decided block, which says who proposed it, and who voted in which round for the
// block before, and the validators of the participants whose gradients it includes. It reports
// whether the next height's first turn was lost when it last came, and its validator has not been
// heard of since: neither a vote, of which the slowest is in no commit, nor a gradient.
func (t *turns) observe(b *abcitypes.RequestFinalizeBlock, included []string) (lost bool) {
	heard, validators := included, make([]string, len(b.DecidedLastCommit.Votes))
	for i, v := range b.DecidedLastCommit.Votes {
		validators[i] = string(v.Validator.Address)
		if v.BlockIdFlag != cmtproto.BlockIDFlagAbsent {
			heard = append(heard, validators[i])
		}
	}
	n := int64(len(validators))
	if !slices.Equal(validators, t.validators) || b.Height != t.height+1 { // another circle
		t.validators, t.lost, t.whose = validators, make([]bool, n), make([]string, n)
	} else if n > 0 {
		t.decided(int64(b.DecidedLastCommit.Round), n)
	}
	for _, address := range heard {
		if place := slices.Index(t.whose, address); place >= 0 {
			t.lost[place] = false
		}
	}
	t.height, t.proposer = b.Height, string(b.ProposerAddress)
	return n > 0 && t.lost[(b.Height+1)%n]
}

// decided notes the round, of n validators, in which the last block was decided. The block names
// who made it: in a round after the first that may be an earlier proposer, whose block is proposed
// again.
func (t *turns) decided(round, n int64) {
	for at := t.height; at < t.height+min(round, n); at++ {
		t.lost[at%n] = true
	}
	place := (t.height + round) % n
	t.lost[place] = false
	if round == 0 || !slices.Contains(t.whose, t.proposer) {
		t.whose[place] = t.proposer
	}
}

// includedValidators returns the addresses of the validators whose participants have a gradient in
// a round, in the state after it.
func includedValidators(s *app.State, r *app.Record) (addresses []string) {
	if r == nil {
		return nil
	}
	for _, c := range r.Contributions {
		if key := s.Participants[c.Participant].ConsensusKey; len(key) > 0 {
			hash := sha256.Sum256(key)
			addresses = append(addresses, string(hash[:crypto.AddressSize]))
		}
	}
	return addresses
}
