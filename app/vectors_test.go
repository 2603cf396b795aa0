package app_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// vectors is testdata/chain.json: a chain against which a second implementation can be checked.
// Bytes are base64, as in encoding/json. Hashes and models are hexadecimal, a model 8 bytes a
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
	Proven  []piece  `json:"misbehavior,omitempty"` // the block's evidence of CometBFT
	AppHash string   `json:"app_hash"`              // after the block
	Model   string   `json:"model"`
}

// piece is a piece of CometBFT's evidence: its type, the validator's address and the height.
type piece struct {
	Type    uint32 `json:"type"`
	Address []byte `json:"address"`
	Height  uint64 `json:"height"`
}

// newVectors begins a chain.
func newVectors(t *testing.T, about string, g app.Genesis) (*vectors, *app.State) {
	genesis, err := g.Encode()
	require.NoError(t, err)
	s, err := app.NewState(apptest.ChainID, 1, 1<<20, g)
	require.NoError(t, err)
	return &vectors{About: about, ChainID: apptest.ChainID, InitialHeight: 1, BlockMaxBytes: 1 << 20, Genesis: genesis,
		AppHash: hash(s)}, s
}

// step appends a block at the next height and returns the state after it.
func (v *vectors) step(t *testing.T, s *app.State, about string, block app.Block) *app.State {
	block.Height = s.Height + 1
	out, err := s.Execute(block)
	require.NoError(t, err, about)
	b := vector{Height: out.State.Height, About: about, Txs: [][]byte{}, AppHash: hash(out.State), Model: model(out.State)}
	for _, x := range block.Txs {
		b.Txs = append(b.Txs, x.Raw)
	}
	for _, m := range block.Misbehavior {
		b.Proven = append(b.Proven, piece(m))
	}
	v.Blocks = append(v.Blocks, b)
	return out.State
}

// commitVectors makes a chain of three rounds with commit_reveal: one with all participants, one in
// which one participant does not commit itself, and one in which a participant commits itself late
// because another withholds its gradient.
func commitVectors(t *testing.T) *vectors {
	g := apptest.Genesis(4, apptest.Params(4, apptest.CommitReveal, apptest.Budgeted(9),
		func(p *params.Params) { p.Training.Rounds, p.Reputation.PassedOver = 6, 100_000 }))
	v, s := newVectors(t, "Six rounds of four participants with commit_reveal. Written by TestChainVectors.", g)
	step := func(about string, txs ...*tx.Tx) { s = v.step(t, s, about, app.Block{Txs: txs}) }
	step("two commitments", apptest.Commits(s, 1, 2)...)
	step("the other two: the phase ends", apptest.Commits(s, 0, 3)...)
	step("round 0", apptest.Close(s, s.Height+1)...)
	step("participant 3 does not commit itself", apptest.Commits(s, 0, 1, 2)...)
	for s.Committing() {
		step("its commitment is waited for")
	}
	step("round 1, without participant 3", apptest.Close(s, s.Height+1, 0, 1, 2)...)
	step("participant 3 does not commit itself", apptest.Commits(s, 0, 1, 2)...)
	for !s.TakesCommits(s.Height+1) || s.Committing() {
		step("participant 2 withholds its gradient")
	}
	step("participant 3 commits itself late", apptest.Commit(s, 3))
	step("round 2, without participant 2, which pays", apptest.Close(s, s.Height+1, 0, 1, 3)...)
	round := func(about string, extra []*tx.Tx, who []int, mutate ...func(*tx.Gradient)) {
		blocks := roundOf(s, who, mutate...)
		for open := s.Progress.Round; s.Progress.Round == open; extra = nil {
			step(about, append(blocks(s), extra...)...)
		}
	}
	lead := s.Progress.Ranking[0]
	round("round 3: two say that participant 2 was late, one that participant 1 was; 3 is back", []*tx.Tx{apptest.Sign(3,
		&tx.Present{Participant: 3, Round: s.Progress.Round, Nonce: 1})}, []int{0, 1, 3},
		observing([]uint32{2}, nil, 0), observing([]uint32{1, 2}, nil, 3))
	round("round 4 waits for 3, and not for 2; two say that the leader of round 3 failed", nil, []int{0, 1, 3},
		observing(nil, []uint32{lead}, 0, 1))
	round("round 5", nil, apptest.Indices(4))
	return v
}

// chainVectors makes a chain of five rounds with momentum and weight decay: a member joins, a
// leader is passed over, one round lacks a participant, and one has five.
func chainVectors(t *testing.T) *vectors {
	g := apptest.Genesis(4, apptest.Params(4, func(p *params.Params) {
		p.Training.Rounds, p.Training.Momentum, p.Training.WeightDecay = 5, 0.5, 0.01
		p.Reputation.Margin, p.Reputation.PassedOver = 300_000, 100_000
	}))
	v, s := newVectors(t, "Five rounds of four participants, then five. Written by TestChainVectors; app/SPEC.md says "+
		"how to execute it.", g)
	step := func(about string, txs ...*tx.Tx) { s = v.step(t, s, about, app.Block{Txs: txs}) }
	step("no transactions")
	step("round 0", apptest.Close(s, s.Height+1)...)
	join := apptest.Join(4)
	step("round 1; participant 4 asks to join", append(apptest.Close(s, s.Height+1), join)...)
	step("three approve", apptest.Approve(0, join), apptest.Approve(2, join), apptest.Approve(1, join))
	for s.Height+1 < apptest.Opens(s, 1) {
		step("the leader of view 0 is silent")
	}
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	second := s.Progress.Ranking[1]
	a, err := s.DraftAggregate(s.Height+1, second, pending)
	require.NoError(t, err)
	step("round 2, closed in view 1; participant 4 joins",
		s.Assemble(s.Height+1, append(pending, apptest.Sign(int(second), a)), 0)...)
	for s.Height+1 < s.Progress.Opened+s.Params.Election.QuorumBlocks {
		step("participant 3 is silent")
	}
	step("round 3, without participant 3", apptest.Close(s, s.Height+1, 0, 1, 2, 4)...)
	step("round 4, of five", apptest.Close(s, s.Height+1)...)
	return v
}

// sumsVectors makes a chain of two epochs in which vectors are sums: of three rounds, one of which lacks a
// participant, and of two rounds from the model of the first epoch.
func sumsVectors(t *testing.T) *vectors {
	g := apptest.Genesis(4, apptest.Params(4, apptest.Summed, func(p *params.Params) {
		p.Training.Rounds, p.Rule.Name = 3, "mean"
	}))
	v, s := newVectors(t, "Two epochs of four participants whose vectors are sums (worker_momentum 1). Written by "+
		"TestChainVectors.", g)
	step := func(about string, txs ...*tx.Tx) { s = v.step(t, s, about, app.Block{Txs: txs}) }
	step("round 0", apptest.Close(s, s.Height+1)...)
	for s.Height+1 < s.Progress.Opened+s.Params.Election.QuorumBlocks {
		step("participant 3 is silent")
	}
	step("round 1, without participant 3", apptest.Close(s, s.Height+1, 0, 1, 2)...)
	step("round 2; three agree to an epoch with the model kept", append(apptest.Close(s, s.Height+1),
		agreed(another(s, true, false, func(p *params.Params) { p.Training.Rounds = 2 }))...)...)
	step("round 0 of epoch 1", apptest.Close(s, s.Height+1)...)
	step("round 1 of epoch 1", apptest.Close(s, s.Height+1)...)
	return v
}

func hash(s *app.State) string {
	h := s.Hash()
	return hex.EncodeToString(h[:])
}

func model(s *app.State) string { return hex.EncodeToString(app.EncodeParameters(s.Model)) }

// TestChainVectors executes the recorded chains from the genesis and the raw transactions alone.
// The files are written with SPDL_TEST_VECTORS=testdata; a change of them is state-breaking.
func TestChainVectors(t *testing.T) {
	for _, c := range []struct {
		file   string
		rounds uint64
		make   func(*testing.T) *vectors
	}{{"chain.json", 5, chainVectors}, {"commit.json", 6, commitVectors}, {"governance.json", 4, governanceVectors},
		{"sums.json", 2, sumsVectors}} {
		if folder := os.Getenv("SPDL_TEST_VECTORS"); folder != "" {
			data, err := json.MarshalIndent(c.make(t), "", " ")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, c.file), append(data, '\n'), 0o644))
		}
		data, err := os.ReadFile("testdata/" + c.file)
		require.NoError(t, err)
		s := execute(t, data)
		require.True(t, s.Finished())
		require.Equal(t, c.rounds, s.Progress.Round)
	}
}

// execute executes a recorded chain, and returns the state after it.
func execute(t *testing.T, data []byte) *app.State {
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
		for _, m := range b.Proven {
			block.Misbehavior = append(block.Misbehavior, app.Misbehavior(m))
		}
		out, err := s.Execute(block)
		require.NoError(t, err, b.About)
		s = out.State
		require.Equal(t, b.AppHash, hash(s), b.About)
		require.Equal(t, b.Model, model(s), b.About)
	}
	return s
}
