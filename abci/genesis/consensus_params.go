package genesis

import (
	"fmt"
	"slices"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// CheckConsensus returns app.ErrGenesis for consensus parameters with which a chain of genesis g
// and the given number of validators would stall or halt.
func CheckConsensus(p cmtproto.ConsensusParams, g app.Genesis, validators int) error {
	n := len(g.Participants)
	switch {
	case p.Block == nil || p.Evidence == nil || p.Validator == nil:
		return fmt.Errorf("%w: consensus_params lacks block, evidence or validator", app.ErrGenesis)
	case p.Version.GetApp() != app.Version:
		return fmt.Errorf("%w: consensus_params.version.app is %d, this program executes chains of version %d: run the "+
			"release that made the genesis, or make a new one; a node joins a chain that was upgraded with the releases of "+
			"its versions in turn, or by state sync", app.ErrGenesis, p.Version.GetApp(), app.Version)
	case p.Evidence.MaxBytes != params.EvidenceBytes:
		return fmt.Errorf("%w: consensus_params.evidence.max_bytes is %d, want %d: blocks keep room for so much",
			app.ErrGenesis, p.Evidence.MaxBytes, params.EvidenceBytes)
	case p.Block.MaxGas != -1:
		return fmt.Errorf("%w: consensus_params.block.max_gas is %d, want -1: transactions here have no gas", app.ErrGenesis,
			p.Block.MaxGas)
	case !slices.Equal(p.Validator.PubKeyTypes, []string{types.ABCIPubKeyTypeEd25519}):
		return fmt.Errorf("%w: consensus_params.validator.pub_key_types is %q, want %q alone", app.ErrGenesis,
			p.Validator.PubKeyTypes, types.ABCIPubKeyTypeEd25519)
	case p.Abci.GetVoteExtensionsEnableHeight() != 0:
		return fmt.Errorf("%w: consensus_params.abci.vote_extensions_enable_height is %d, want 0: there are none here",
			app.ErrGenesis, p.Abci.GetVoteExtensionsEnableHeight())
	}
	have := p.Block.MaxBytes
	if have == -1 {
		have = types.MaxBlockSizeBytes
	}
	if need := g.Params.BlockBytes(n); have < need {
		return fmt.Errorf("%w: consensus_params.block.max_bytes is %d, a round needs %d", app.ErrGenesis, have, need)
	}
	// room is the result of CometBFT's types.MaxDataBytes for all validators and the max evidence.
	// That function panics if the result is negative.
	room := have - types.MaxOverheadForBlock - types.MaxHeaderBytes - types.MaxCommitBytes(validators) -
		p.Evidence.MaxBytes
	if need := g.Params.RoundBytes(n); room < need {
		return fmt.Errorf("%w: consensus_params.block.max_bytes is %d, which leaves %d bytes for transactions beside the "+
			"commit of %d validators and the evidence, a round needs %d",
			app.ErrGenesis, have, room, validators, need)
	}
	return nil
}
