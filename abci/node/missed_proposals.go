package node

import (
	"crypto/sha256"
	"slices"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"

	"github.com/spdl/spdl/app"
)

// missedProposals tracks which validators missed their last turn as proposer. Validators have equal powers. So
// CometBFT's proposer advances by one validator with each height, and with each round of a height. With n validators,
// one validator is the first proposer, that of round 0, at heights h and h-n. The result is an estimate of this node
// and affects only timeouts. Only FinalizeBlock uses it.
type missedProposals struct {
	height     int64    // the height of the last observed block
	proposer   string   // the proposer's address in the header of the last observed block
	validators []string // the validators' addresses, in the order of the votes in a commit
	missed     []bool   // missed[h%n]: whether the first proposer of height h missed its last turn; n is len(validators)
	proposers  []string // proposers[h%n]: the address of the first proposer of height h; "" while unknown
}

// observe records a decided block. gradientSenders has the addresses of the validators whose
// participants have a gradient in the block. isSilent is true if the first proposer of the next
// height missed its last turn, and since then no commit has its vote and no block has its gradient.
// Gradients count, because a commit can be complete without the votes of the slowest validator.
func (t *missedProposals) observe(b *abcitypes.RequestFinalizeBlock, gradientSenders []string,
) (isSilent bool) {
	heard, validators := gradientSenders, make([]string, len(b.DecidedLastCommit.Votes))
	for i, v := range b.DecidedLastCommit.Votes {
		validators[i] = string(v.Validator.Address)
		if v.BlockIdFlag != cmtproto.BlockIDFlagAbsent {
			heard = append(heard, validators[i])
		}
	}
	n := int64(len(validators))
	if !slices.Equal(validators, t.validators) || b.Height != t.height+1 { // the order of proposers is unknown again
		t.validators, t.missed, t.proposers = validators, make([]bool, n), make([]string, n)
	} else if n > 0 {
		t.recordDecision(int64(b.DecidedLastCommit.Round), n)
	}
	for _, address := range heard {
		if place := slices.Index(t.proposers, address); place >= 0 {
			t.missed[place] = false
		}
	}
	t.height, t.proposer = b.Height, string(b.ProposerAddress)
	return n > 0 && t.missed[(b.Height+1)%n]
}

// recordDecision records that the last block was decided in the given round of consensus, with n validators. The
// proposers of the earlier rounds missed their turns. If the round is not 0, the proposer of that round may have
// proposed the block of an earlier proposer again. The block names only that earlier proposer.
func (t *missedProposals) recordDecision(round, n int64) {
	for at := t.height; at < t.height+min(round, n); at++ {
		t.missed[at%n] = true
	}
	place := (t.height + round) % n
	t.missed[place] = false
	if round == 0 || !slices.Contains(t.proposers, t.proposer) {
		t.proposers[place] = t.proposer
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
