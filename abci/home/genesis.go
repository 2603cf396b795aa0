package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/wait"
)

// ReadGenesis reads a home's genesis document.
func ReadGenesis(c *config.Config) (*types.GenesisDoc, error) {
	doc, err := genesis.ReadFile(c.GenesisFile())
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w (spdl consortium start makes one; to join a chain, put its genesis.json there)", err)
	}
	return doc, err
}

// GenesisOf returns the application's part of a home's genesis.
func GenesisOf(c *config.Config) (app.Genesis, error) {
	doc, err := ReadGenesis(c)
	if err != nil {
		return app.Genesis{}, err
	}
	return app.DecodeGenesis(doc.AppState)
}

// chainIDs matches the chain ids that a new chain may have.
var chainIDs = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9._-]{1,%d}$`, types.MaxChainIDLen))

// CheckChainID rejects an id for a new chain that does not match chainIDs. It is not called for
// existing chains, whose ids need not match.
func CheckChainID(id string) error {
	if !chainIDs.MatchString(id) {
		return fmt.Errorf("chain id %q has %d bytes, want 1 to %d letters, digits, ., _ and -", id, len(id),
			types.MaxChainIDLen)
	}
	return nil
}

// NewGenesis makes a genesis document. Every participant with a consensus key becomes a validator,
// and the max block size is enough for a whole round.
func NewGenesis(chainID string, at time.Time, g app.Genesis) (*types.GenesisDoc, error) {
	state, err := g.Encode()
	if err != nil {
		return nil, err
	}
	doc := &types.GenesisDoc{ChainID: chainID, GenesisTime: at.UTC(), InitialHeight: 1, AppState: json.RawMessage(state),
		ConsensusParams: types.DefaultConsensusParams()}
	doc.ConsensusParams.Block.MaxBytes = g.Params.BlockBytes(len(g.Participants))
	doc.ConsensusParams.Evidence.MaxBytes = params.EvidenceBytes
	doc.ConsensusParams.Version.App = app.Version
	for _, p := range g.Participants {
		if len(p.ConsensusKey) == 0 {
			continue
		}
		pub := ed25519.PubKey(p.ConsensusKey)
		doc.Validators = append(doc.Validators, types.GenesisValidator{Address: pub.Address(), PubKey: pub, Power: app.Power,
			Name: p.Moniker})
	}
	return doc, doc.ValidateAndComplete()
}

// TooLarge returns a warning if a transaction of a round with n participants under the parameters p
// may be too large for nodes that were started under the parameters started. If not, it returns "".
// A node derives its limits on messages from the parameters at its start.
func TooLarge(started, p params.Params, n int) string {
	need, of := p.TxBytes(n), limit.MessageSizesOf(DefaultConfig(), started, n, 0)
	if of.Fit(p, n) && need <= int64(TuneSizes(DefaultConfig(), started, n).Mempool.MaxTxBytes) {
		return ""
	}
	return fmt.Sprintf("a transaction of a round may have %d bytes, nodes that run take %d: restart every node, one "+
		"after the other, once the epoch has begun",
		need, of[mempool.MempoolChannel]-limit.SmallMessage)
}

// CheckGenesis validates a whole genesis document: CometBFT's part, the application's part, and that the two parts fit
// each other. It returns a warning for each value that is valid but weakens a guarantee.
func CheckGenesis(doc *types.GenesisDoc) (g app.Genesis, warnings []string, err error) {
	if err := genesis.Complete(doc); err != nil {
		return g, nil, err
	}
	if g, err = app.DecodeGenesis(doc.AppState); err != nil {
		return g, nil, err
	}
	if warnings, err = g.Validate(); err != nil {
		return g, nil, err
	}
	if err := preset.CheckLedger(g.Params); err != nil {
		return g, warnings, err
	}
	if _, err = g.Contenders(doc.ChainID); err != nil {
		return g, warnings, err
	}
	if err := genesis.CheckConsensus(doc.ConsensusParams.ToProto(), g, len(doc.Validators)); err != nil {
		return g, warnings, err
	}
	return g, warnings, genesis.CheckValidators(doc, g)
}

// AwaitGenesis waits until the genesis time of a home or until ctx ends, and logs that it waits. It must be called
// before the node's start. CometBFT waits too, but logs that only at level info, and no signal ends CometBFT's wait.
func AwaitGenesis(ctx context.Context, c *config.Config, logger log.Logger) error {
	doc, err := ReadGenesis(c)
	if err != nil {
		return err
	}
	ahead := time.Until(doc.GenesisTime)
	if ahead <= 0 {
		return nil
	}
	logger.With("module", "app").Error("the genesis time is ahead of this host's clock: waiting for it", "genesis_time",
		doc.GenesisTime, "wait", ahead.Round(time.Second))
	return wait.For(ctx, ahead)
}
