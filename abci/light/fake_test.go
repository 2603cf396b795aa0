package light_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// node is a whole chain of one participant and four validators. It answers over HTTP as a node
// does, and lies if a test says so.
type node struct {
	t          *testing.T
	doc        *types.GenesisDoc
	keys       []cmted25519.PrivKey
	validators *types.ValidatorSet // the first validator set
	every      int64               // number of heights between two replacements of a validator; 0 means never

	mu      sync.Mutex
	genesis *app.State
	state   *app.State
	blocks  []*types.Block // blocks from height 1 on
	commits []*types.Commit
	sets    []*types.ValidatorSet
	pending []*tx.Tx
	sent    []*tx.Tx
	hold    bool // submitted transactions make no blocks

	// lie changes an answer; nil tells the truth.
	lie func(method string, height int64, answer any) any
}

func newNode(t *testing.T, chainID string, mutate ...func(*params.Params)) *node {
	n := &node{t: t}
	g := apptest.Genesis(1, apptest.Params(1, append([]func(*params.Params){func(p *params.Params) {
		p.Rule.Name, p.TestChain = "mean", true
	}}, mutate...)...))
	g.Participants[0].VrfProof = app.ProveGenesis(chainID, g.Seed, apptest.VRFKey(0))
	state, err := g.Encode()
	require.NoError(t, err)
	n.doc = &types.GenesisDoc{ChainID: chainID, GenesisTime: time.Now().Add(-time.Minute), InitialHeight: 1,
		AppState: state, ConsensusParams: types.DefaultConsensusParams()}
	var set []*types.Validator
	for i := range 100 {
		n.keys = append(n.keys, cmted25519.GenPrivKeyFromSecret(fmt.Appendf(nil, "validator %d of %s", i, chainID)))
	}
	for _, key := range n.keys[:4] {
		n.doc.Validators = append(n.doc.Validators, types.GenesisValidator{PubKey: key.PubKey(), Power: 10})
		set = append(set, types.NewValidator(key.PubKey(), 10))
	}
	n.validators = types.NewValidatorSet(set)
	n.genesis, err = app.NewState(chainID, 1, n.doc.ConsensusParams.Block.MaxBytes, g)
	require.NoError(t, err)
	n.state = n.genesis
	n.block()
	return n
}

// at returns the validators of a future height.
func (n *node) at(height int64) *types.ValidatorSet {
	if n.every == 0 {
		return n.validators
	}
	var set []*types.Validator
	gone := (height - 1) / n.every
	for _, key := range n.keys[gone : gone+4] {
		set = append(set, types.NewValidator(key.PubKey(), 10))
	}
	return types.NewValidatorSet(set)
}

// make makes a block with a header in the chain's own form.
func (n *node) make(height int64, at time.Time, appHash [32]byte, txs []*tx.Tx) *types.Block {
	last := &types.Commit{}
	var id types.BlockID
	if height > 1 {
		last = n.commits[height-2]
		id = last.BlockID
	}
	var raws []types.Tx
	for _, x := range txs {
		raws = append(raws, x.Raw)
	}
	b := types.MakeBlock(height, raws, last, nil)
	b.ChainID, b.Time, b.LastBlockID, b.AppHash = n.doc.ChainID, at, id, appHash[:]
	b.ValidatorsHash, b.NextValidatorsHash = n.at(height).Hash(), n.at(height+1).Hash()
	b.ConsensusHash, b.ProposerAddress = make([]byte, 32), n.at(height).Validators[0].Address
	return b
}

// sign makes a block's commit, signed by the first validators of the set.
func (n *node) sign(b *types.Block, count int) *types.Commit {
	parts, err := b.MakePartSet(types.BlockPartSizeBytes)
	require.NoError(n.t, err)
	c := &types.Commit{Height: b.Height, BlockID: types.BlockID{Hash: b.Hash(), PartSetHeader: parts.Header()}}
	for i, v := range n.at(b.Height).Validators {
		if i >= count {
			c.Signatures = append(c.Signatures, types.NewCommitSigAbsent())
			continue
		}
		at := b.Time.Add(time.Millisecond)
		vote := types.Vote{Type: cmtproto.PrecommitType, Height: b.Height, BlockID: c.BlockID, Timestamp: at,
			ValidatorAddress: v.Address, ValidatorIndex: int32(i)}
		for _, key := range n.keys {
			if v.PubKey.Equals(key.PubKey()) {
				signature, err := key.Sign(types.VoteSignBytes(n.doc.ChainID, vote.ToProto()))
				require.NoError(n.t, err)
				c.Signatures = append(c.Signatures, types.CommitSig{BlockIDFlag: types.BlockIDFlagCommit,
					ValidatorAddress: v.Address, Timestamp: at, Signature: signature})
			}
		}
	}
	return c
}

// block appends a block with the transactions that can close the round.
func (n *node) block() { n.blockAt(time.Now()) }

func (n *node) blockAt(at time.Time) {
	height := n.state.Height + 1
	txs := n.state.Assemble(height, n.pending, 0)
	out, err := n.state.Execute(app.Block{Height: height, Txs: txs})
	require.NoError(n.t, err)
	b := n.make(int64(height), at, n.state.Hash(), txs)
	n.blocks, n.commits = append(n.blocks, b), append(n.commits, n.sign(b, 4))
	n.sets = append(n.sets, n.at(int64(height)))
	if n.state = out.State; len(txs) > 0 {
		n.pending = nil
	}
}

func (n *node) broadcast(raw []byte) (*coretypes.ResultBroadcastTx, error) {
	t, err := tx.Decode(raw)
	if err != nil {
		return nil, err
	}
	n.sent = append(n.sent, t)
	if err := n.state.Admit(t); err != nil {
		return &coretypes.ResultBroadcastTx{Code: 1, Log: err.Error()}, nil
	}
	n.pending = append(n.pending, t)
	if !n.hold {
		n.block()
	}
	return &coretypes.ResultBroadcastTx{}, nil
}

func (n *node) query(path string) any {
	switch path {
	case "/kept":
		answer := query.StateAfter{Height: n.state.Height, Document: n.state.Encode()}
		n.block() // the chain goes on
		return answer
	case "/lead/0/draft":
		lead, _ := n.query("/lead/0").(query.Lead)
		if lead.Draft == nil {
			return nil
		}
		return query.Lead{Draft: lead.Draft}
	case "/lead/0":
		draft, err := n.state.DraftAggregate(n.state.Height+1, 0, n.pending)
		if err != nil {
			return nil
		}
		lead := query.Lead{Draft: draft}
		for _, t := range n.pending {
			if t.Gradient != nil {
				lead.Gradients = append(lead.Gradients, t.Raw)
			}
		}
		return lead
	}
	return nil
}

// answer returns the true answer, changed by the node's lie.
func (n *node) answer(method string, p struct {
	Height string `json:"height"`
	Path   string `json:"path"`
	Tx     []byte `json:"tx"`
},
) (answer any, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	height, _ := strconv.ParseInt(p.Height, 10, 64)
	if height > int64(len(n.blocks)) {
		return nil, fmt.Errorf("height %d must be less than or equal to the current blockchain height %d", height,
			len(n.blocks))
	}
	switch method {
	case "status":
		s := &coretypes.ResultStatus{SyncInfo: coretypes.SyncInfo{LatestBlockHeight: int64(len(n.blocks))}}
		s.NodeInfo.Network = n.doc.ChainID
		answer = s
	case "commit":
		h := n.blocks[height-1].Header
		answer = &coretypes.ResultCommit{SignedHeader: types.SignedHeader{Header: &h, Commit: n.commits[height-1]}}
	case "validators":
		answer = &coretypes.ResultValidators{BlockHeight: height, Validators: n.sets[height-1].Validators, Count: 4, Total: 4}
	case "block":
		answer = &coretypes.ResultBlock{Block: n.blocks[height-1]}
	case "broadcast_tx_sync":
		return n.broadcast(p.Tx)
	case "abci_query":
		p.Path, _, _ = strings.Cut(p.Path, "?") // one piece holds the whole answer
		method, answer = p.Path, n.query(p.Path)
	}
	if n.lie != nil {
		answer = n.lie(method, height, answer)
	}
	if method == p.Path {
		if answer == nil {
			return &coretypes.ResultABCIQuery{Response: abcitypes.ResponseQuery{Code: 1, Log: "not now"}}, nil
		}
		if kept, ok := answer.(query.StateAfter); ok {
			info, err := json.Marshal(query.RangeInfo{Height: kept.Height, Bytes: len(kept.Document)})
			return &coretypes.ResultABCIQuery{Response: abcitypes.ResponseQuery{Info: string(info), Value: kept.Document}}, err
		}
		value, err := json.Marshal(answer)
		return &coretypes.ResultABCIQuery{Response: abcitypes.ResponseQuery{Value: value}}, err
	}
	return answer, nil
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Height string `json:"height"`
			Path   string `json:"path"`
			Tx     []byte `json:"tx"`
		} `json:"params"`
	}
	if r.URL.Path == abci.TxsPath {
		n.serveTxs(w, r)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := n.answer(request.Method, request.Params)
	if err != nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":%q}}`, request.ID,
			err)
		return
	}
	data, err := cmtjson.Marshal(answer)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, data)
}

func (n *node) serveTxs(w http.ResponseWriter, r *http.Request) {
	var txs protomem.Txs
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, txs.Unmarshal(body)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", abci.TxsType)
	for _, raw := range txs.Txs {
		n.mu.Lock()
		v, err := n.broadcast(raw)
		n.mu.Unlock()
		answer := abcitypes.ToResponseCheckTx(&abcitypes.ResponseCheckTx{})
		if err != nil {
			answer = abcitypes.ToResponseException(err.Error())
		} else {
			answer.GetCheckTx().Code, answer.GetCheckTx().Log = v.Code, v.Log
		}
		if err := abcitypes.WriteMessage(answer, w); err != nil {
			panic(err)
		}
	}
}

// chain returns the chain of the node as seen by a worker of a home.
func (n *node) chain(t *testing.T, h light.Home) worker.Chain {
	t.Helper()
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	if h.Genesis == nil {
		h.Genesis = n.doc
	}
	chain, err := light.Chain([]*client.Client{c}, h, time.Millisecond)
	require.NoError(t, err)
	return chain
}

// first returns the open round.
func first(chain worker.Chain) (*worker.Task, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return chain.Await(ctx, apptest.Key(0).Public().(ed25519.PublicKey), nil)
}
