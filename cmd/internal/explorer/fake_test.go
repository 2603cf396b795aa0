package explorer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtbytes "github.com/cometbft/cometbft/libs/bytes"
	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// fake is a node of four participants, the last of which is an attacker. Every
// text of it is the given one.
type fake struct {
	mu      sync.Mutex
	text    string
	rounds  uint64
	asked   map[string]int
	down    bool
	before  bool             // no block is there yet
	waiting []query.Proposal // open, beside one of no known kind
	sent    *tx.Tx           // the transaction of a hash that begins with cc
}

func newFake(rounds uint64, text string) *fake {
	return &fake{rounds: rounds, text: text, asked: map[string]int{}}
}

func (f *fake) set(change func()) { f.mu.Lock(); defer f.mu.Unlock(); change() }

func (f *fake) params() params.Params {
	return params.Params{
		Preset: f.text, Model: params.Model{Kind: params.ModelSoftmax, Inputs: 4, Classes: 3, Pool: 1, PixelScale: 255},
		Rule:     params.Rule{Name: f.text, Byzantine: 1},
		Training: params.Training{Rounds: 100, LearningRate: 0.5, WeightDecay: 0.25}, Grid: params.Grid{Width: 1, Step: 0.5},
		Privacy: params.Privacy{Mechanism: f.text}, Reputation: params.Reputation{Initial: params.One},
		Election: params.Election{Term: 1,
			ViewBlocks: 1},
	}
}

func (f *fake) record(t uint64) app.Record {
	r := app.Record{Round: t, Opened: t + 1, Height: t + 2, Leader: 1, View: 1, Ranking: []uint32{3, 1, 0, 2},
		Rule: f.text, Margin: 50, Seed: []byte{1}, DeltaDigest: make([]byte, 32), ModelHash: make([]byte, 32)}
	for i := range uint32(4) {
		c := app.Contribution{Participant: i, Selected: i < 3, Score: 100 + 10*int64(i), Opposed: i == 3,
			Reputation: params.One, VrfOutput: []byte{byte(i + 1)}}
		if i == 3 {
			c.Score, c.Reputation = 170, params.One-int64(t)*1000
		}
		r.Contributions = append(r.Contributions, c)
	}
	return r
}

func (f *fake) people() []app.Participant {
	var out []app.Participant
	for i := range uint32(4) {
		out = append(out, app.Participant{Index: i, Moniker: f.text, Address: f.text, PubKey: make([]byte, 32),
			Id: []byte{byte(i), 0xab, 0xcd, 0xef}, ConsensusKey: []byte(key(byte(i))), Active: true, Reputation: params.One / 2,
			Participations: f.rounds})
	}
	return out
}

func key(i byte) ed25519.PubKey { return append(make(ed25519.PubKey, 31), i) }

// Query answers as the application would.
func (f *fake) Query(_ context.Context, path string, answer any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[path]++
	if f.down {
		return fmt.Errorf("%w: dial tcp 10.1.2.3:26657: refused", client.ErrUnreachable)
	}
	missing := &client.Refusal{Code: abci.CodeNotFound, Log: "not found: " + f.text}
	epsilon := 0.5
	var body any
	last := path[strings.LastIndex(path, "/")+1:]
	t, _ := strconv.ParseUint(last, 10, 64)
	switch name := strings.Split(path, "/")[1]; name {
	case "status":
		height := f.rounds + 1
		if f.before {
			height = 0
		}
		body = query.Status{ChainID: f.text, Height: height, Round: f.rounds, Rounds: 100,
			Ranking: []uint32{3, 1, 0, 2}, Participants: 4, Dim: 15, Preset: f.text, Rule: f.text, Epsilon: &epsilon,
			Seed: f.text, AppHash: f.text}
	case "params":
		body = f.params()
	case "participants":
		body = f.people()
	case "round", "timing", "model":
		if t >= f.rounds {
			return missing
		}
		switch name {
		case "round":
			body = f.record(t)
		case "timing":
			body = query.Timing{Round: t, LGC: 1}
		default:
			body = query.ModelState{Round: t + 1, Hash: f.text,
				Parameters: app.EncodeParameters([]float64{1, -1, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5})}
		}
	case "evidence":
		body = []app.Offence{{Participant: 3, Kind: 1, Height: 2, Evidence: []byte{9}}}
	case "epochs":
		body = []query.EpochState{{Running: true, Rounds: f.rounds, Planned: 100, Rule: f.text, Preset: f.text,
			ModelHash: f.text}}
	case "leader":
		body = query.Leader{Round: f.rounds, Leaders: []uint32{3}, Ranking: []uint32{3, 1, 0, 2}}
	case "membership":
		body = query.Membership{Participants: 4, Byzantine: 1, Validators: 4, Threshold: 3,
			Proposals: append([]query.Proposal{{ID: f.text, Kind: f.text, About: f.text}}, f.waiting...)}
	case "privacy":
		left := uint64(7)
		spend := query.Spend{Moniker: f.text, Epsilon: &epsilon, Budget: 3, Delta: 1e-5, Left: &left, Guarantee: true}
		body = spend
		if path == "/privacy" {
			body = []query.Spend{spend}
		}
	default:
		return missing
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

func (f *fake) events() []abcitypes.Event {
	return []abcitypes.Event{{Type: f.text, Attributes: []abcitypes.EventAttribute{{Key: f.text, Value: f.text}}}}
}

func (f *fake) header(h int64) cmttypes.Header {
	return cmttypes.Header{ChainID: f.text, Height: h, Time: time.Unix(h, 0), ProposerAddress: key(0).Address()}
}

// join returns a transaction with the text in it.
func (f *fake) join() cmttypes.Tx {
	body := &tx.Join{Moniker: f.text, Address: f.text, PubKey: make([]byte, 32)}
	content, err := body.Marshal()
	if err != nil {
		panic(err)
	}
	e := tx.Envelope{Kind: uint32(tx.KindJoin), Content: content, Signature: make([]byte, 64)}
	raw, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}

// gradient returns a gradient of participant 3 in a round.
func (f *fake) gradient(round uint64) cmttypes.Tx {
	payload := make([]byte, 15)
	payload[0], payload[14] = 127, 0x81 // -127
	content, err := (&tx.Gradient{Round: round, Participant: 3, Payload: payload, VrfProof: make([]byte, 80)}).Marshal()
	if err != nil {
		panic(err)
	}
	e := tx.Envelope{Kind: uint32(tx.KindGradient), Content: content, Signature: make([]byte, 64)}
	raw, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}

func (f *fake) BlockchainInfo(_ context.Context, from, until int64) (*ctypes.ResultBlockchainInfo, error) {
	out := &ctypes.ResultBlockchainInfo{}
	for h := until; h >= from; h-- {
		out.BlockMetas = append(out.BlockMetas, &cmttypes.BlockMeta{Header: f.header(h), NumTxs: 1,
			BlockID: cmttypes.BlockID{Hash: append([]byte{byte(h)}, make([]byte, 31)...)}})
	}
	return out, nil
}

func (f *fake) Block(_ context.Context, h *int64) (*ctypes.ResultBlock, error) {
	return &ctypes.ResultBlock{Block: &cmttypes.Block{Header: f.header(*h),
		Data: cmttypes.Data{Txs: cmttypes.Txs{f.join(), []byte("junk")}}, LastCommit: &cmttypes.Commit{}}}, nil
}

func (f *fake) BlockByHash(context.Context, []byte) (*ctypes.ResultBlock, error) {
	return &ctypes.ResultBlock{}, nil
}

func (f *fake) BlockSearch(context.Context, string, *int, *int, string) (*ctypes.ResultBlockSearch, error) {
	return &ctypes.ResultBlockSearch{}, nil
}

func (f *fake) BlockResults(context.Context, *int64) (*ctypes.ResultBlockResults, error) {
	return &ctypes.ResultBlockResults{TxsResults: []*abcitypes.ExecTxResult{{Code: 1, Log: f.text}},
		FinalizeBlockEvents: f.events()}, nil
}

func (f *fake) Tx(_ context.Context, hash []byte, _ bool) (*ctypes.ResultTx, error) {
	if hash[0] == 0xbb {
		return &ctypes.ResultTx{Tx: f.gradient(4), Hash: hash, Height: 6}, nil
	}
	if hash[0] == 0xcc {
		return &ctypes.ResultTx{Tx: f.sent.Raw, Hash: hash, Height: 6}, nil
	}
	if hash[0] != 0xaa {
		return nil, &client.Refusal{Code: abci.CodeNotFound, Log: f.text}
	}
	return &ctypes.ResultTx{Tx: f.join(), Hash: hash, Height: 3, TxResult: abcitypes.ExecTxResult{Code: 2, Log: f.text,
		Events: f.events()}}, nil
}

func (f *fake) TxSearch(_ context.Context, query string, _ bool, _, _ *int, _ string) (*ctypes.ResultTxSearch, error) {
	out := &ctypes.ResultTxSearch{}
	if query == "gradient.participant=3 AND tx.height=6" || query == "aggregate.leader=1 AND tx.height=6" {
		out.Txs = []*ctypes.ResultTx{{Hash: append(make([]byte, 31), query[0])}}
	}
	if query == "join.proposal EXISTS" {
		out.Txs = []*ctypes.ResultTx{{Hash: make([]byte, 32), Height: 3, Tx: f.join()}}
	}
	return out, nil
}

// Commit is signed by all validators but the last.
func (f *fake) Commit(_ context.Context, h *int64) (*ctypes.ResultCommit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, fmt.Errorf("%w: refused", client.ErrUnreachable)
	}
	f.asked["commit"]++
	header, commit := f.header(*h), &cmttypes.Commit{Height: *h}
	for i := range byte(3) {
		commit.Signatures = append(commit.Signatures, cmttypes.CommitSig{BlockIDFlag: cmttypes.BlockIDFlagCommit,
			ValidatorAddress: key(i).Address()})
	}
	return ctypes.NewResultCommit(&header, commit, true), nil
}

func (f *fake) Validators(context.Context, *int64, *int, *int) (*ctypes.ResultValidators, error) {
	out := &ctypes.ResultValidators{BlockHeight: 5, Total: 4}
	for i := range byte(4) {
		out.Validators = append(out.Validators, &cmttypes.Validator{Address: key(i).Address(), VotingPower: 10})
	}
	return out, nil
}

// ConsensusState has votes of the first two validators.
func (f *fake) ABCIQuery(context.Context, string, cmtbytes.HexBytes) (*ctypes.ResultABCIQuery, error) {
	return new(ctypes.ResultABCIQuery), nil
}

func (f *fake) NetInfo(context.Context) (*ctypes.ResultNetInfo, error) {
	return &ctypes.ResultNetInfo{NPeers: 2}, nil
}

func (f *fake) ConsensusState(context.Context) (*ctypes.ResultConsensusState, error) {
	return &ctypes.ResultConsensusState{RoundState: json.RawMessage(`{"height_vote_set":[{"prevotes":` +
		`["Vote{0:AB}","nil-Vote","nil-Vote","nil-Vote"],` +
		`"precommits":["nil-Vote","Vote{1:AB}","nil-Vote","nil-Vote"]}]}`)}, nil
}

// over returns an explorer of a fake that has looked once.
func over(t *testing.T, f *fake, o Options) *Server {
	t.Helper()
	if o.Rate == 0 {
		o.Rate, o.Burst = 1e6, 1_000_000
	}
	s := New(f, f, o)
	err := s.chain.Look(t.Context())
	if err != nil && !errors.Is(err, client.ErrUnreachable) {
		require.NoError(t, err)
	}
	return s
}

func get(s *Server, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+target, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// changed is a node whose answers to a query are changed: a record, a list of people or of rejections, a status.
type changed struct {
	*fake
	change func(path string, answer any)
}

func (c changed) Query(ctx context.Context, path string, answer any) error {
	err := c.fake.Query(ctx, path, answer)
	if err == nil || strings.HasPrefix(path, "/refusals") {
		c.change(path, answer)
		err = nil
	}
	return err
}

// overChanged returns an explorer of such a node that has looked once.
func overChanged(t *testing.T, f *fake, change func(path string, answer any)) *Server {
	t.Helper()
	c := changed{f, change}
	s := New(c, c, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1_000_000}})
	require.NoError(t, s.chain.Look(t.Context()))
	return s
}
