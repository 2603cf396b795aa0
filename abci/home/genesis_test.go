package home_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// genesis returns the genesis of a preset, with a validator for each participant.
func genesis(t *testing.T, name string, n int) app.Genesis {
	t.Helper()
	p, err := preset.New(name, n)
	require.NoError(t, err)
	g := app.Genesis{Params: p, Seed: make([]byte, 32)}
	for i := range n {
		member := app.NewParticipant(uint32(i), apptest.Identity(i), p.Reputation)
		member.VrfProof = app.ProveGenesis("chain", g.Seed, apptest.VRFKey(i))
		g.Participants = append(g.Participants, member)
	}
	return g
}

func TestGenesis(t *testing.T) {
	for _, name := range preset.Names() {
		for _, n := range []int{1, 4, 10, 30, 100} {
			g := genesis(t, name, n)
			doc, err := home.NewGenesis("chain", time.Unix(1, 0), g)
			require.NoError(t, err)
			require.Len(t, doc.Validators, n)
			got, _, err := home.CheckGenesis(doc)
			require.NoError(t, err, "%s, n=%d", name, n)
			require.Equal(t, g, got)
		}
	}
}

// TestEvidenceLeavesRoomForARound: with the maximum evidence of a block, which a single validator
// can sign, and the largest commit, CometBFT's own computation leaves room for a round, and does
// not panic.
func TestEvidenceLeavesRoomForARound(t *testing.T) {
	for _, name := range preset.Names() {
		for _, n := range []int{1, 4, 10, 20, 30, 40, 100} {
			g := genesis(t, name, n)
			doc, err := home.NewGenesis("chain", time.Unix(1, 0), g)
			require.NoError(t, err)
			var room int64
			require.NotPanics(t, func() {
				room = types.MaxDataBytes(doc.ConsensusParams.Block.MaxBytes, doc.ConsensusParams.Evidence.MaxBytes, n)
			}, "%s, n=%d", name, n)
			require.GreaterOrEqual(t, room, g.Params.RoundBytes(n), "%s, n=%d", name, n)
			require.Positive(t, doc.ConsensusParams.Evidence.MaxBytes, "evidence must be able to come into a block")
		}
	}
}

// TestTxBytes: no signed transaction is larger than the bound.
func TestTxBytes(t *testing.T) {
	g := genesis(t, "paper", 100)
	d, width := g.Params.Model.Dim(), gradients.Width(g.Params.Grid.Width)
	gradient := apptest.Sign(0, &tx.Gradient{Epoch: 1 << 40, Round: 1 << 40, Participant: 1 << 30,
		Payload: make([]byte, d*int(width)), VrfProof: make([]byte, 80)})
	require.LessOrEqual(t, int64(len(gradient.Raw)), g.Params.TxBytes(len(g.Participants)))

	aggregate := tx.Aggregate{Epoch: 1 << 40, Round: 1 << 40, Leader: 1 << 30, View: 1 << 30, Delta: make([]byte, 8*d)}
	for i := range 100 {
		aggregate.Included = append(aggregate.Included, tx.Included{Participant: uint32(i), Hash: make([]byte, 32)})
	}
	g.Params.Rule.Tolerance = 1
	require.LessOrEqual(t, int64(len(apptest.Sign(0, &aggregate).Raw)), g.Params.TxBytes(len(g.Participants)))
	large := g.Params
	require.Empty(t, home.TooLarge(g.Params, large, 100))
	large.Model.Inputs = 100_000
	require.Contains(t, home.TooLarge(g.Params, large, 100), "may have 8005392 bytes, nodes that run take 136224")
	require.Empty(t, home.TooLarge(large, large, 100), "they started with it")
}

// strangers returns validators without a participant.
func strangers(n int) []types.GenesisValidator {
	out := make([]types.GenesisValidator, n)
	for i := range out {
		out[i] = types.GenesisValidator{PubKey: ed25519.GenPrivKeyFromSecret([]byte{byte(i >> 8), byte(i)}).PubKey(),
			Power: 1}
	}
	return out
}

func TestCheckGenesisRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*types.GenesisDoc)
		says   string
	}{
		"no chain id":   {func(d *types.GenesisDoc) { d.ChainID = "" }, "chain_id"},
		"no app_state":  {func(d *types.GenesisDoc) { d.AppState = nil }, "app_state"},
		"foreign field": {func(d *types.GenesisDoc) { d.AppState = json.RawMessage(`{"parms":{}}`) }, "parms"},
		"small blocks": {func(d *types.GenesisDoc) { d.ConsensusParams.Block.MaxBytes = 1 << 20 },
			"max_bytes is 1048576"},
		"much evidence": {func(d *types.GenesisDoc) { d.ConsensusParams.Evidence.MaxBytes = 1 << 20 },
			"evidence.max_bytes is 1048576, want 65536"},
		"no evidence": {func(d *types.GenesisDoc) { d.ConsensusParams.Evidence.MaxBytes = 0 },
			"evidence.max_bytes is 0, want 65536"},
		"no gas": {func(d *types.GenesisDoc) { d.ConsensusParams.Block.MaxGas = 0 }, "max_gas is 0, want -1"},
		"foreign keys": {func(d *types.GenesisDoc) { d.ConsensusParams.Validator.PubKeyTypes = []string{"secp256k1"} },
			`pub_key_types is ["secp256k1"]`},
		"vote extensions": {func(d *types.GenesisDoc) { d.ConsensusParams.ABCI.VoteExtensionsEnableHeight = 1 },
			"vote_extensions_enable_height is 1"},
		"another version": {func(d *types.GenesisDoc) { d.ConsensusParams.Version.App = app.Version + 1 },
			"version.app is"},
		"no version": {func(d *types.GenesisDoc) { d.ConsensusParams.Version.App = 0 }, "version.app is 0"},
		"no room for others": {func(d *types.GenesisDoc) { d.Validators = append(d.Validators, strangers(9000)...) },
			"the commit of 9100 validators"},
		"lost validator": {func(d *types.GenesisDoc) {
			d.Validators = d.Validators[1:]
		}, `participant 0 ("node0") names a consensus key`},
	} {
		doc, err := home.NewGenesis("chain", time.Unix(1, 0), genesis(t, "paper", 100))
		require.NoError(t, err)
		c.change(doc)
		_, _, err = home.CheckGenesis(doc)
		require.ErrorContains(t, err, c.says, name)
	}
}
