package node

import (
	"crypto/sha256"
	"slices"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"

	"github.com/spdl/spdl/app"
)

// missedProposals tracks which proposers missed their last turn. Validators have equal powers, so
// CometBFT's proposer advances by one validator with each height, and with each round of a height:
// with n validators, the proposer of height h, round 0, is also that of height h-n. The result is
// an estimate of this node and affects only timeouts. Only FinalizeBlock uses it.
type missedProposals struct {
	height     int64 // the height of the last block
	proposer   string
	validators []string // the validators' addresses, in the order of commits
	lost       []bool   // by place in the rotation, which is the height modulo n
	whose      []string // the addresses by place; "" while unknown
}

// observe records a decided block: its proposer, the votes on the block before and their round, and
// the validators (included) whose participants' gradients it includes. It reports whether the first
// proposer of the next height missed its last turn and has since sent neither a committed vote nor
// a gradient. Gradients count because no commit may have the vote of the slowest validator.
func (t *missedProposals) observe(b *abcitypes.RequestFinalizeBlock, included []string) (lost bool) {
	heard, validators := included, make([]string, len(b.DecidedLastCommit.Votes))
	for i, v := range b.DecidedLastCommit.Votes {
		validators[i] = string(v.Validator.Address)
		if v.BlockIdFlag != cmtproto.BlockIDFlagAbsent {
			heard = append(heard, validators[i])
		}
	}
	n := int64(len(validators))
	if !slices.Equal(validators, t.validators) || b.Height != t.height+1 { // the rotation has changed
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

// decided records the round, with n validators, in which the last block was decided. A block names
// the validator that proposed it first. In a later round that may be an earlier proposer, whose
// block was proposed again.
func (t *missedProposals) decided(round, n int64) {
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
// a closed round. s is the state after the round.
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
