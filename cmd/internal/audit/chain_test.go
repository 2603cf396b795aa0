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

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// chain is a chain made by hand: real blocks with real signatures of all
// validators, and no network.
type chain struct {
	t       *testing.T
	doc     *types.GenesisDoc
	comet   sm.State
	state   *app.State
	commit  *types.Commit // of the last block
	blocks  []*cmtproto.Block
	records map[uint64]*app.Record
	keys    map[string]ed25519.PrivKey // by address
}

func newChain(t *testing.T, n int, mutate ...func(*params.Params)) *chain {
	g := apptest.Genesis(n, apptest.Params(n, mutate...))
	doc, err := home.NewGenesis(apptest.ChainID, began, g)
	require.NoError(t, err)
	c := &chain{t: t, doc: doc, commit: &types.Commit{}, records: map[uint64]*app.Record{},
		keys: map[string]ed25519.PrivKey{}}
	for i := range 2 * n {
		seed := sha256.Sum256(fmt.Appendf(nil, "spdl test consensus key %d", i))
		key := ed25519.PrivKey(append(seed[:], apptest.ConsensusKey(i)...))
		c.keys[string(key.PubKey().Address())] = key
	}
	c.comet, err = sm.MakeGenesisState(doc)
	require.NoError(t, err)
	c.state, err = app.NewState(doc.ChainID, 1, doc.ConsensusParams.Block.MaxBytes, g)
	require.NoError(t, err)
	hash := c.state.Hash()
	c.comet.AppHash, c.comet.LastResultsHash = hash[:], sm.TxResultsHash(nil)
	return c
}

// add makes the next block of the transactions.
func (c *chain) add(txs ...*tx.Tx) { c.block(nil, nil, txs...) }

// block makes the next block, with evidence, and lets a conspiracy of all validators change it.
func (c *chain) block(evidence types.EvidenceList, forge func(*types.Block), txs ...*tx.Tx) {
	height := int64(c.state.Height + 1)
	var raws types.Txs
	for _, x := range txs {
		raws = append(raws, x.Raw)
	}
	b, err := c.comet.MakeBlock(height, raws, c.commit, evidence, c.comet.Validators.GetProposer().Address)
	require.NoError(c.t, err)
	if forge != nil {
		forge(b)
	}
	parts, err := b.MakePartSet(types.BlockPartSizeBytes)
	require.NoError(c.t, err)
	id := types.BlockID{Hash: b.Hash(), PartSetHeader: parts.Header()}
	raw, err := b.ToProto()
	require.NoError(c.t, err)
	data, err := raw.Marshal()
	require.NoError(c.t, err)
	own := new(cmtproto.Block) // shares nothing with what is kept here
	require.NoError(c.t, own.Unmarshal(data))
	c.blocks = append(c.blocks, own)

	c.commit = &types.Commit{Height: height, BlockID: id}
	for i, v := range c.comet.Validators.Validators {
		c.commit.Signatures = append(c.commit.Signatures, types.CommitSig{
			BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: v.Address,
			Timestamp: began.Add(time.Duration(height) * 100 * time.Millisecond),
		})
		sig, err := c.keys[string(v.Address)].Sign(c.commit.VoteSignBytes(c.doc.ChainID, int32(i)))
		require.NoError(c.t, err)
		c.commit.Signatures[i].Signature = sig
	}
	proven, err := abci.MisbehaviorOf(evidence)
	require.NoError(c.t, err)
	out, err := c.state.Execute(app.Block{Height: uint64(height), Txs: txs, Misbehavior: proven})
	require.NoError(c.t, err)
	c.comet.LastResultsHash = sm.TxResultsHash(abci.TxResults(txs, out.Record))
	if updates := abci.ConsensusUpdates(out); updates != nil {
		c.comet.ConsensusParams = c.comet.ConsensusParams.Update(updates)
	}
	c.state = out.State
	if out.Record != nil {
		c.records[out.Record.Round] = out.Record
	}
	hash := out.State.Hash()
	c.comet.LastBlockHeight, c.comet.LastBlockID, c.comet.LastBlockTime = height, id, b.Time
	c.comet.LastValidators, c.comet.Validators, c.comet.NextValidators = c.comet.Validators, c.comet.NextValidators,
		c.comet.NextValidators.Copy()
	c.comet.AppHash = hash[:]
	var updates []*types.Validator
	for _, v := range out.Validators {
		updates = append(updates, types.NewValidator(ed25519.PubKey(v.ConsensusKey), v.Power))
	}
	require.NoError(c.t, c.comet.NextValidators.UpdateWithChangeSet(updates))
}

// close closes rounds, one a block.
func (c *chain) close(rounds int) {
	for range rounds {
		c.add(apptest.Close(c.state, c.state.Height+1)...)
	}
}

// memory is a chain as a source.
type memory struct {
	c    *chain
	next int
}

func (c *chain) source() *memory { return &memory{c: c} }

func (m *memory) Genesis() *types.GenesisDoc { return m.c.doc }

func (m *memory) Next(context.Context) (*cmtproto.Block, error) {
	if m.next == len(m.c.blocks) {
		return nil, io.EOF
	}
	m.next++
	return m.c.blocks[m.next-1], nil
}

func (m *memory) Tip(context.Context) (audit.Tip, error) {
	return audit.Tip{Commit: m.c.commit, AppHash: m.c.comet.AppHash}, nil
}

func (m *memory) Done() float64 { return float64(m.next) / float64(len(m.c.blocks)) }
func (m *memory) Close() error  { return nil }

// witness is a node that computed something else.
type witness struct {
	*memory
	change func(*app.Record)
}

func (w witness) Record(_ context.Context, _, round uint64) (*app.Record, error) {
	data, err := w.c.records[round].Marshal()
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

func (w witness) State(context.Context) (*app.State, error) { return w.c.state, nil }
