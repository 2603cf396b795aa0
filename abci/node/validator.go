package node

import (
	"context"
	"sync/atomic"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
)

// openValidator returns the validator of a member's node. If priv_validator_laddr in config.toml is
// set, a remote signer has the validator's key, otherwise the home has it.
func (r *Running) openValidator(ctx context.Context, c *config.Config, s home.SignerConfig, chainID string,
	nodeKey *p2p.NodeKey, keys *home.Keystore, logger log.Logger) (validator types.PrivValidator, err error) {
	if at := c.PrivValidatorListenAddr; at != "" {
		users, err := s.UserIDs()
		if err != nil {
			return nil, err
		}
		if r.remote, err = awaitSigner(ctx, at, users, chainID, nodeKey, logger); err != nil {
			return nil, err
		}
		validator = r.remote
	} else {
		if r.validatorLock, err = home.LockValidator(c); err != nil {
			return nil, err
		}
		local, err := keys.LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
		if err != nil {
			return nil, err
		}
		if r.paused, err = home.PauseSigning(c, local, r.isSyncing, r.log); err != nil {
			return nil, err
		}
		validator = r.paused
	}
	r.votes.key, err = validator.GetPubKey()
	return validator, err
}

// isSyncing reports whether the node has not started consensus yet.
func (r *Running) isSyncing() bool { return r.Node == nil || r.Node.ConsensusReactor().WaitSync() }

// validatorVotes counts the decided blocks since the last commit with a vote of this node's validator key. It warns if
// the chain has another validator key for the node's participant, because this node's votes then do not count.
type validatorVotes struct {
	participant []byte        // a signing key of the participant
	key         crypto.PubKey // the validator key that signs at this node, nil at a relay
	metrics     *metrics.Metrics
	logger      log.Logger
	current     atomic.Bool  // whether the node has caught up: before that, blocks may be from before a rotation
	warned      atomic.Value // the chain's validator key in the last warning, a string

	silent atomic.Int64 // the number of decided blocks since the last vote; 0 while the participant has no validator
}

// onFinalized is the application's callback for a decided block.
func (v *validatorVotes) onFinalized(b *abcitypes.RequestFinalizeBlock, out *app.Outcome) {
	if !v.compare(out.State) {
		if v.silent.Swap(0) > 0 {
			v.metrics.Set("blocks_since_vote", 0)
		}
		return
	}
	silent := v.silent.Add(1)
	if home.HasVoted(b.DecidedLastCommit.Votes, v.key.Address()) {
		silent = 0
		v.silent.Store(0)
	}
	v.metrics.Set("blocks_since_vote", float64(silent))
}

// compare warns if the chain has another validator key for the node's participant than this node's key, once for each
// such key, and not while the node catches up. It reports whether the participant has a validator.
func (v *validatorVotes) compare(s *app.State) bool {
	if v.key == nil || s == nil {
		return false
	}
	p := s.HolderOf(v.participant)
	if p == nil || !p.Active || len(p.ConsensusKey) != ed25519.PubKeySize {
		return false
	}
	if key := string(p.ConsensusKey); v.current.Load() && key != string(v.key.Bytes()) && v.warned.Swap(key) != key {
		v.logger.Warn("this node signs no block: the chain has another validator key for its participant; stop the node, "+
			"put the priv_validator_key.json of that key in place, start it", "participant", p.Index,
			"chain", ed25519.PubKey(p.ConsensusKey).Address(), "here", v.key.Address(), "height", s.Height)
	}
	return true
}
