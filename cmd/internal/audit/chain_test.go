package audit_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// began is the time of genesis.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A chain is made by hand: real blocks with real signatures of all
// validators, and no network.
type chain struct {
	T       testing.TB
	Doc     *types.GenesisDoc
	Comet   sm.State
	State   *app.State
	Commit  *types.Commit // of the last block
	Blocks  []*cmtproto.Block
	Records map[uint64]*app.Record
	Keys    map[string]ed25519.PrivKey // by address
}

// newChain returns a chain of n participants without blocks.
func newChain(t testing.TB, n int, mutate ...func(*params.Params)) *chain {
	g := apptest.Genesis(n, apptest.Params(n, mutate...))
	doc, err := home.NewGenesis(apptest.ChainID, began, g)
	require.NoError(t, err)
	c := &chain{T: t, Doc: doc, Commit: &types.Commit{}, Records: map[uint64]*app.Record{},
		Keys: map[string]ed25519.PrivKey{}}
	for i := range 2 * n {
		seed := sha256.Sum256(fmt.Appendf(nil, "spdl test consensus key %d", i))
		key := ed25519.PrivKey(append(seed[:], apptest.ConsensusKey(i)...))
		c.Keys[string(key.PubKey().Address())] = key
	}
	c.Comet, err = sm.MakeGenesisState(doc)
	require.NoError(t, err)
	c.Comet.Version.Consensus.App = doc.ConsensusParams.Version.App // as CometBFT's handshake does
	c.State, err = app.NewState(doc.ChainID, 1, doc.ConsensusParams.Block.MaxBytes, g)
	require.NoError(t, err)
	hash := c.State.Hash()
	c.Comet.AppHash, c.Comet.LastResultsHash = hash[:], sm.TxResultsHash(nil)
	return c
}

// Add makes the next block of the transactions.
func (c *chain) Add(txs ...*tx.Tx) { c.Block(nil, nil, txs...) }

// Block makes the next block, with evidence, and lets a conspiracy of all validators change it.
func (c *chain) Block(evidence types.EvidenceList, forge func(*types.Block), txs ...*tx.Tx) {
	height := int64(c.State.Height + 1)
	var raws types.Txs
	for _, x := range txs {
		raws = append(raws, x.Raw)
	}
	b, err := c.Comet.MakeBlock(height, raws, c.Commit, evidence, c.Comet.Validators.Validators[0].Address)
	require.NoError(c.T, err)
	if forge != nil {
		forge(b)
	}
	parts, err := b.MakePartSet(types.BlockPartSizeBytes)
	require.NoError(c.T, err)
	id := types.BlockID{Hash: b.Hash(), PartSetHeader: parts.Header()}
	raw, err := b.ToProto()
	require.NoError(c.T, err)
	data, err := raw.Marshal()
	require.NoError(c.T, err)
	own := new(cmtproto.Block) // a copy, which shares nothing with the block that the chain keeps
	require.NoError(c.T, own.Unmarshal(data))
	c.Blocks = append(c.Blocks, own)

	c.Commit = &types.Commit{Height: height, BlockID: id}
	for i, v := range c.Comet.Validators.Validators {
		c.Commit.Signatures = append(c.Commit.Signatures, types.CommitSig{
			BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: v.Address,
			Timestamp: began.Add(time.Duration(height) * 100 * time.Millisecond),
		})
		sig, err := c.Keys[string(v.Address)].Sign(c.Commit.VoteSignBytes(c.Doc.ChainID, int32(i)))
		require.NoError(c.T, err)
		c.Commit.Signatures[i].Signature = sig
	}
	proven, err := abci.MisbehaviorOf(evidence)
	require.NoError(c.T, err)
	out, err := c.State.Execute(app.Block{Height: uint64(height), Txs: txs, Misbehavior: proven})
	require.NoError(c.T, err)
	c.Comet.LastResultsHash = sm.TxResultsHash(abci.TxResults(txs, out.Record))
	if updates := abci.ConsensusUpdates(out); updates != nil {
		c.Comet.ConsensusParams = c.Comet.ConsensusParams.Update(updates)
	}
	c.State = out.State
	if out.Record != nil {
		c.Records[out.Record.Round] = out.Record
	}
	hash := out.State.Hash()
	c.Comet.LastBlockHeight, c.Comet.LastBlockID, c.Comet.LastBlockTime = height, id, b.Time
	c.Comet.LastValidators, c.Comet.Validators, c.Comet.NextValidators = c.Comet.Validators, c.Comet.NextValidators,
		c.Comet.NextValidators.Copy()
	c.Comet.AppHash = hash[:]
	var updates []*types.Validator
	for _, v := range out.Validators {
		updates = append(updates, types.NewValidator(ed25519.PubKey(v.ConsensusKey), v.Power))
	}
	require.NoError(c.T, c.Comet.NextValidators.UpdateWithChangeSet(updates))
}

// Close closes rounds, one round a block.
func (c *chain) Close(rounds int) {
	for range rounds {
		c.Add(apptest.Close(c.State, c.State.Height+1)...)
	}
}

// A memory is a chain as a source of blocks.
type memory struct {
	Of *chain
	At int // the blocks that were read
}

// Source returns the chain as a source of blocks.
func (c *chain) Source() *memory { return &memory{Of: c} }

// Genesis returns the chain's genesis.
func (m *memory) Genesis() *types.GenesisDoc { return m.Of.Doc }

// Next returns the next block.
func (m *memory) Next(context.Context) (*cmtproto.Block, error) {
	if m.At == len(m.Of.Blocks) {
		return nil, io.EOF
	}
	m.At++
	return m.Of.Blocks[m.At-1], nil
}

// Tip returns the commit of the last block and the hash after it.
func (m *memory) Tip(context.Context) (audit.Tip, error) {
	return audit.Tip{Commit: m.Of.Commit, AppHash: m.Of.Comet.AppHash}, nil
}

// Done returns the share that was read.
func (m *memory) Done() float64 { return float64(m.At) / float64(len(m.Of.Blocks)) }

// Close has nothing to close.
func (m *memory) Close() error { return nil }

// witness is a node that computed something else.
type witness struct {
	*memory
	change func(*app.Record)
}

func (w witness) Record(_ context.Context, _, round uint64) (*app.Record, error) {
	data, err := w.Of.Records[round].Marshal()
	if err != nil {
		return nil, err
	}
	r := new(app.Record)
	if err := r.Unmarshal(data); err != nil {
		return nil, err
	}
	w.change(r)
	return r, nil
}

func (w witness) State(context.Context) (*app.State, error) { return w.Of.State, nil }
