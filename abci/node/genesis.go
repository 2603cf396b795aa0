package node

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// power is every genesis validator's voting power.
const power = 10

// Bytes of a block and a transaction beside the gradients' payloads.
const (
	gradientOverhead  = 256
	perValidator      = 3400 // of the worst-case commit and evidence
	includedBytes     = 48   // an aggregate's entry
	leastBlockBytes   = 1 << 20
	blockBytesPercent = 130
)

// NewGenesis makes the genesis document: a validator for every participant
// with a consensus key, and blocks that hold a round.
func NewGenesis(chainID string, at time.Time, g app.Genesis) (*types.GenesisDoc, error) {
	state, err := g.Encode()
	if err != nil {
		return nil, err
	}
	doc := &types.GenesisDoc{ChainID: chainID, GenesisTime: at.UTC(), InitialHeight: 1, AppState: json.RawMessage(state), ConsensusParams: types.DefaultConsensusParams()}
	doc.ConsensusParams.Block.MaxBytes = BlockBytes(g)
	for _, p := range g.Participants {
		if len(p.ConsensusKey) == 0 {
			continue
		}
		pub := ed25519.PubKey(p.ConsensusKey)
		doc.Validators = append(doc.Validators, types.GenesisValidator{Address: pub.Address(), PubKey: pub, Power: power, Name: p.Moniker})
	}
	return doc, doc.ValidateAndComplete()
}

// TxBytes bounds the largest transaction: a gradient or, at a tolerance, an
// aggregate with its vector.
func TxBytes(g app.Genesis) int64 {
	d := int64(g.Params.Model.Dim())
	gradient := d*int64(g.Params.Grid.Width) + gradientOverhead
	aggregate := int64(len(g.Participants))*includedBytes + gradientOverhead
	if g.Params.Rule.Tolerance > 0 {
		aggregate += 8 * d
	}
	return max(gradient, aggregate)
}

// BlockBytes is the block size that a round needs: 1.3 times its transactions
// and a worst-case commit.
func BlockBytes(g app.Genesis) int64 {
	n := int64(len(g.Participants))
	return max(leastBlockBytes, (n+1)*TxBytes(g)*blockBytesPercent/100+n*perValidator)
}

// CheckGenesis validates a genesis document whole: CometBFT's part, ours, and
// that the two fit. The warnings name what is allowed and weakens a guarantee.
func CheckGenesis(doc *types.GenesisDoc) (g app.Genesis, warnings []string, err error) {
	if err := doc.ValidateAndComplete(); err != nil {
		return g, nil, err
	}
	if g, err = app.DecodeGenesis(doc.AppState); err != nil {
		return g, nil, err
	}
	if warnings, err = g.Validate(); err != nil {
		return g, nil, err
	}
	need, have := BlockBytes(g), doc.ConsensusParams.Block.MaxBytes
	if need > types.MaxBlockSizeBytes {
		return g, warnings, fmt.Errorf("a round of %d gradients takes blocks of %d bytes, CometBFT's bound is %d", len(g.Participants), need, types.MaxBlockSizeBytes)
	}
	if have != -1 && have < need {
		return g, warnings, fmt.Errorf("consensus_params.block.max_bytes is %d, a round needs %d", have, need)
	}
	validators := map[string]bool{}
	for _, v := range doc.Validators {
		validators[string(v.PubKey.Bytes())] = true
	}
	for _, p := range g.Participants {
		if len(p.ConsensusKey) > 0 && !validators[string(p.ConsensusKey)] {
			return g, warnings, fmt.Errorf("participant %d (%s) names a consensus key that is no validator's", p.Index, p.Moniker)
		}
	}
	return g, warnings, nil
}
