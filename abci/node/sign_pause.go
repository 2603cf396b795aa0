package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/libs/log"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/home"
)

// errPaused means that the validator signs nothing, because what it has signed before is not known.
var errPaused = errors.New("nothing is signed")

// pausedValidator is a validator that signs nothing until the home's SignPause has ended, so that it
// does not sign a second vote at the height that was open when its former host stopped. The pause
// ends after home.PauseBlocks consecutive blocks that
//
//   - consensus has decided at this node, and not block sync,
//   - have a later time than the begin of the pause: a block's time is the median of the times in the
//     votes of its last commit, so old blocks from lying peers do not count, and
//   - have no vote of the validator in their last commit: a process that still signs with its key
//     prolongs the pause.
type pausedValidator struct {
	types.PrivValidator
	config  *config.Config
	key     crypto.PubKey
	syncing func() bool // whether the node is in block sync or state sync
	log     log.Logger

	mu     sync.Mutex
	pause  *home.SignPause // nil after the end of the pause
	height int64           // of the last counted block; 0 before the first
	blocks int             // consecutive blocks without a vote of the validator
}

// pauseSigning returns a validator of a home that waits for the end of the home's SignPause, if the
// home has one. syncing must return true until consensus has started.
func pauseSigning(c *config.Config, v types.PrivValidator, syncing func() bool, logger log.Logger) (*pausedValidator,
	error) {
	pause, err := home.ReadSignPause(c)
	if err != nil {
		return nil, err
	}
	key, err := v.GetPubKey()
	if err != nil {
		return nil, err
	}
	p := &pausedValidator{PrivValidator: v, config: c, key: key, syncing: syncing, log: logger, pause: pause}
	if pause != nil {
		logger.Warn("the validator signs nothing until the chain has decided blocks without it", "blocks", home.PauseBlocks,
			"since", pause.Since, "file", home.SignPauseFile(c))
	}
	return p, nil
}

// isPaused reports whether the validator signs nothing. It is false if p is nil.
func (p *pausedValidator) isPaused() bool { return p.err() != nil }

// err returns errPaused, with what the pause waits for, until the pause has ended.
func (p *pausedValidator) err() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pause == nil {
		return nil
	}
	return fmt.Errorf("%w: the home was restored without the validator's last signature at %s, and the chain has to decide "+
		"%d blocks without this validator first, now %d, the last at height %d (%s)", errPaused,
		p.pause.Since.Format(time.RFC3339), home.PauseBlocks, p.blocks, p.height, home.SignPauseFile(p.config))
}

// onFinalized is the application's callback for a decided block. It ends the pause.
func (p *pausedValidator) onFinalized(b *abcitypes.RequestFinalizeBlock) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.pause == nil || p.syncing() || !b.Time.After(p.pause.Since):
		return
	case hasVoted(b.DecidedLastCommit.Votes, p.key.Address()):
		p.blocks, p.height = 0, b.Height
		p.log.Error("the validator signs nothing: the last commit has a vote with its key, by another process or by the "+
			"former host", "height", b.Height, "validator", p.key.Address())
		return
	}
	p.blocks, p.height = p.blocks+1, b.Height
	if p.blocks < home.PauseBlocks {
		return
	}
	if err := home.EndSignPause(p.config); err != nil {
		p.log.Error("the validator signs nothing: its pause cannot end", "height", b.Height, "err", err)
		return
	}
	p.pause = nil
	p.log.Info("the validator signs from the next height on", "height", b.Height, "blocks", p.blocks)
}

// SignVote implements types.PrivValidator.
func (p *pausedValidator) SignVote(chainID string, vote *cmtproto.Vote) error {
	if err := p.err(); err != nil {
		return err
	}
	return p.PrivValidator.SignVote(chainID, vote)
}

// SignProposal implements types.PrivValidator.
func (p *pausedValidator) SignProposal(chainID string, proposal *cmtproto.Proposal) error {
	if err := p.err(); err != nil {
		return err
	}
	return p.PrivValidator.SignProposal(chainID, proposal)
}
