package node

import (
	"context"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/home"
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
