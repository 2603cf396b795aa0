package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/libs/log"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
)

// ErrPaused means that the validator signs nothing, because its earlier signatures are not known.
var ErrPaused = errors.New("nothing is signed")

// Gate is a private validator that signs nothing while Check returns an error.
type Gate struct {
	types.PrivValidator
	Check func() error
}

// SignVote implements types.PrivValidator.
func (g Gate) SignVote(chainID string, vote *cmtproto.Vote) error {
	if err := g.Check(); err != nil {
		return err
	}
	return g.PrivValidator.SignVote(chainID, vote)
}

// SignProposal implements types.PrivValidator.
func (g Gate) SignProposal(chainID string, proposal *cmtproto.Proposal) error {
	if err := g.Check(); err != nil {
		return err
	}
	return g.PrivValidator.SignProposal(chainID, proposal)
}

// PausedValidator is a validator that signs nothing until the home's SignPause has ended, so that
// it does not sign a second vote at the height that was open when its former host stopped. The
// pause ends after PauseBlocks consecutive blocks that
//
//   - this node has decided in consensus, and not fetched by block sync;
//   - have a time after the begin of the pause: the time of a block is the median of the times in the
//     votes of its last commit, so old blocks from lying peers do not count;
//   - have no vote of the validator in their last commit. Such a vote means that another process still
//     signs with the validator's key.
type PausedValidator struct {
	Gate
	config  *config.Config
	key     crypto.PubKey
	syncing func() bool // whether the node is in block sync or state sync
	log     log.Logger

	mu     sync.Mutex
	pause  *SignPause // nil after the end of the pause
	height int64      // the height of the last counted block; 0 before the first
	blocks int        // the number of consecutive blocks without a vote of the validator
}

// PauseSigning returns the validator v of a home, which signs nothing until the end of the home's
// SignPause, if there is one. syncing must return true until consensus has started.
func PauseSigning(c *config.Config, v types.PrivValidator, syncing func() bool, logger log.Logger) (*PausedValidator,
	error) {
	pause, err := ReadSignPause(c)
	if err != nil {
		return nil, err
	}
	key, err := v.GetPubKey()
	if err != nil {
		return nil, err
	}
	p := &PausedValidator{config: c, key: key, syncing: syncing, log: logger, pause: pause}
	p.Gate = Gate{v, p.err}
	if pause != nil {
		logger.Warn("the validator signs nothing until the chain has decided blocks without it", "blocks", PauseBlocks,
			"since", pause.Since, "file", SignPauseFile(c))
	}
	return p, nil
}

// IsPaused reports whether the validator signs nothing. It is false if p is nil.
func (p *PausedValidator) IsPaused() bool { return p.err() != nil }

// err returns ErrPaused with the progress of the pause, or nil after the end of the pause.
func (p *PausedValidator) err() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pause == nil {
		return nil
	}
	return fmt.Errorf("%w: the home was restored without the validator's last signature at %s, and the chain has to "+
		"decide %d blocks without this validator first, now %d, the last at height %d (%s)", ErrPaused,
		p.pause.Since.Format(time.RFC3339), PauseBlocks, p.blocks, p.height, SignPauseFile(p.config))
}

// OnFinalized counts a decided block for the pause, and ends the pause if the block is the last that
// it needs. The application calls OnFinalized for every decided block.
func (p *PausedValidator) OnFinalized(b *abcitypes.RequestFinalizeBlock) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.pause == nil || p.syncing() || !b.Time.After(p.pause.Since):
		return
	case HasVoted(b.DecidedLastCommit.Votes, p.key.Address()):
		p.blocks, p.height = 0, b.Height
		p.log.Error("the validator signs nothing: the last commit has a vote with its key, by another process or by the "+
			"former host", "height", b.Height, "validator", p.key.Address())
		return
	}
	p.blocks, p.height = p.blocks+1, b.Height
	if p.blocks < PauseBlocks {
		return
	}
	if err := EndSignPause(p.config); err != nil {
		p.log.Error("the validator signs nothing: its pause cannot end", "height", b.Height, "err", err)
		return
	}
	p.pause = nil
	p.log.Info("the validator signs from the next height on", "height", b.Height, "blocks", p.blocks)
}

// HasVoted reports whether votes, the votes of a commit, contain a vote of the validator that has the given address.
func HasVoted(votes []abcitypes.VoteInfo, address []byte) bool {
	return slices.ContainsFunc(votes, func(vote abcitypes.VoteInfo) bool {
		return bytes.Equal(vote.Validator.Address, address) && vote.BlockIdFlag != cmtproto.BlockIDFlagAbsent
	})
}

// PauseBlocks is the number of consecutive blocks without a vote of the home's validator that end a SignPause.
const PauseBlocks = 2

// SignPause records, in a file in the data folder of a home, that the earlier signatures of the
// home's validator are not known. While the file exists, the validator signs nothing.
type SignPause struct {
	Since time.Time `json:"since"` // when the pause began, on this host's clock
}

// SignPauseFile returns the path of the file of a home's SignPause.
func SignPauseFile(c *config.Config) string {
	return filepath.Join(c.DBDir(), "validator_pause.json")
}

// ReadSignPause returns the SignPause of a home, nil if the home has none.
func ReadSignPause(c *config.Config) (*SignPause, error) {
	path := SignPauseFile(c)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	p := new(SignPause)
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// EndSignPause removes the file of a home's SignPause, and syncs the removal to the disk.
func EndSignPause(c *config.Config) error {
	path := SignPauseFile(c)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SyncFolder(path)
}

// beginSignPause writes a SignPause for a home, with the current time.
func beginSignPause(c *config.Config) error {
	data, err := json.Marshal(SignPause{time.Now().UTC()})
	if err != nil {
		return err
	}
	return replaceSecret(SignPauseFile(c), data)
}
