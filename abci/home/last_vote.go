package home

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/store"
)

// maxCommits is the max number of commits that are searched for the last vote of a validator.
const maxCommits = 64

// LastVote looks for a vote of the validator with the given address in the last maxCommits commits of a stopped node's
// block store. It returns the height of the newest such commit, 0 if there is none.
func LastVote(c *config.Config, address crypto.Address) (height int64, err error) {
	db, err := openStored(c, "blockstore")
	if err != nil {
		return 0, err
	}
	defer func() {
		if r := recover(); r != nil { // the block store panics on bytes that it cannot read
			err = store.Damage("blockstore", r)
		}
		err = errors.Join(err, db.Close())
	}()
	blocks, err := store.OpenBlocks(db)
	if err != nil {
		return 0, err
	}
	for height = blocks.Height(); height > max(0, blocks.Base()-1, blocks.Height()-maxCommits); height-- {
		commit := blocks.LoadSeenCommit(height)
		if commit == nil {
			commit = blocks.LoadBlockCommit(height)
		}
		if commit != nil && slices.ContainsFunc(commit.Signatures, func(s types.CommitSig) bool {
			return bytes.Equal(s.ValidatorAddress, address)
		}) {
			return height, nil
		}
	}
	return 0, nil
}
