package app_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// vectors is testdata/chain.json: a chain that a second implementation can execute and be held to.
// Bytes are base64, as encoding/json has them; hashes and models are hexadecimal, a model 8 bytes a
// parameter, little endian.
type vectors struct {
	About         string          `json:"about"`
	ChainID       string          `json:"chain_id"`
	InitialHeight uint64          `json:"initial_height"`
	BlockMaxBytes int64           `json:"block_max_bytes"` // of the consensus parameters
	Genesis       json.RawMessage `json:"genesis"`         // the application's state in CometBFT's genesis
	AppHash       string          `json:"app_hash"`        // before the first block
	Blocks        []vector        `json:"blocks"`
}

type vector struct {
	Height  uint64   `json:"height"`
	About   string   `json:"about"`
	Txs     [][]byte `json:"txs"`
	AppHash string   `json:"app_hash"` // after the block
	Model   string   `json:"model"`
}

// chainVectors makes a chain of five rounds: momentum and weight decay, a member that joins, a
// leader that is passed over, a round without one participant, and a round of five.
func chainVectors(t *testing.T) vectors {
	g := apptest.Genesis(4, apptest.Params(4, func(p *params.Params) {
		p.Training.Rounds, p.Training.Momentum, p.Training.WeightDecay = 5, 0.5, 0.01
		p.Reputation.Margin, p.Reputation.PassedOver = 300_000, 100_000
	}))
	genesis, err := g.Encode()
	require.NoError(t, err)
	s, err := app.NewState(apptest.ChainID, 1, 1<<20, g)
	require.NoError(t, err)
	v := vectors{
		About:   "Five rounds of four participants, then five. Written by TestChainVectors; app/SPEC.md says how to execute it.",
		ChainID: apptest.ChainID, InitialHeight: 1, BlockMaxBytes: 1 << 20, Genesis: genesis, AppHash: hash(s),
	}
	step := func(about string, txs ...*tx.Tx) {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
		require.NoError(t, err, about)
		s = out.State
		b := vector{Height: s.Height, About: about, Txs: [][]byte{}, AppHash: hash(s), Model: model(s)}
		for _, x := range txs {
			b.Txs = append(b.Txs, x.Raw)
		}
		v.Blocks = append(v.Blocks, b)
	}
	step("no transactions")
	step("round 0", apptest.Close(s, s.Height+1)...)
	join := apptest.Join(4)
	step("round 1; participant 4 asks to join", append(apptest.Close(s, s.Height+1), join)...)
	step("three approve", apptest.Approve(0, join), apptest.Approve(2, join), apptest.Approve(1, join))
	for s.Height+1 < s.Progress.Opened+s.Params.Election.ViewBlocks {
		step("the leader of view 0 is silent")
	}
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	second := s.Progress.Ranking[1]
	a, err := s.Lead(s.Height+1, second, pending)
	require.NoError(t, err)
	step("round 2, closed in view 1; participant 4 joins", s.Assemble(s.Height+1, append(pending, apptest.Sign(int(second), a)), 0)...)
	for s.Height+1 < s.Progress.Opened+s.Params.Election.QuorumBlocks {
		step("participant 3 is silent")
	}
	step("round 3, without participant 3", apptest.Close(s, s.Height+1, 0, 1, 2, 4)...)
	step("round 4, of five", apptest.Close(s, s.Height+1)...)
	return v
}

func hash(s *app.State) string {
	h := s.Hash()
	return hex.EncodeToString(h[:])
}

func model(s *app.State) string { return hex.EncodeToString(app.EncodeParameters(s.Model)) }

// TestChainVectors executes the chain on file as a stranger would: from the genesis and the raw
// transactions. The file is written with SPDL_VECTORS=path; a change of it is state-breaking.
func TestChainVectors(t *testing.T) {
	if path := os.Getenv("SPDL_VECTORS"); path != "" {
		data, err := json.MarshalIndent(chainVectors(t), "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(data, '\n'), 0o644))
	}
	data, err := os.ReadFile("testdata/chain.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(data, &v))
	g, err := app.DecodeGenesis(v.Genesis)
	require.NoError(t, err)
	s, err := app.NewState(v.ChainID, v.InitialHeight, v.BlockMaxBytes, g)
	require.NoError(t, err)
	require.Equal(t, v.AppHash, hash(s))
	for _, b := range v.Blocks {
		block := app.Block{Height: b.Height}
		for _, raw := range b.Txs {
			x, err := tx.Decode(raw)
			require.NoError(t, err)
			block.Txs = append(block.Txs, x)
		}
		out, err := s.Execute(block)
		require.NoError(t, err, b.About)
		s = out.State
		require.Equal(t, b.AppHash, hash(s), b.About)
		require.Equal(t, b.Model, model(s), b.About)
	}
	require.True(t, s.Finished())
	require.EqualValues(t, 5, s.Progress.Round)
}
