package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
)

// served is an application that answers only the RPC's abci_query.
type served struct {
	*abci.Application
	t       *testing.T
	mu      sync.Mutex // a handler may still run after its request has failed
	asked   []string
	longest int
	spoil   func(r *abcitypes.ResponseQuery) // may be nil
	cut     func(asked int) bool             // reports whether a request gets no answer; may be nil
}

func serve(t *testing.T, mutate func(*params.Params)) (*served, *client.Client) {
	t.Helper()
	a, err := abci.New(abci.Options{ChainID: apptest.ChainID})
	require.NoError(t, err)
	s := &served{Application: a, t: t}
	data, err := apptest.Genesis(4, apptest.Params(4, mutate)).Encode()
	require.NoError(t, err)
	_, err = a.InitChain(context.Background(), &abcitypes.RequestInitChain{ChainId: apptest.ChainID, InitialHeight: 1,
		AppStateBytes: data})
	require.NoError(t, err)
	s.block(1)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	return s, c
}

// block decides an empty block.
func (s *served) block(height int64) {
	_, err := s.FinalizeBlock(context.Background(), &abcitypes.RequestFinalizeBlock{Height: height})
	require.NoError(s.t, err)
	_, err = s.Commit(context.Background(), &abcitypes.RequestCommit{})
	require.NoError(s.t, err)
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			Height string `json:"height"`
			Path   string `json:"path"`
		} `json:"params"`
	}
	require.NoError(s.t, json.NewDecoder(r.Body).Decode(&request))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, request.Params.Path)
	if s.cut != nil && s.cut(len(s.asked)) {
		panic(http.ErrAbortHandler)
	}
	height, _ := strconv.ParseInt(request.Params.Height, 10, 64)
	answer, err := s.Query(context.Background(), &abcitypes.RequestQuery{Path: request.Params.Path, Height: height})
	require.NoError(s.t, err)
	if s.spoil != nil {
		answer.Value = bytes.Clone(answer.Value)
		s.spoil(answer)
	}
	body, err := cmtjson.Marshal(coretypes.ResultABCIQuery{Response: *answer})
	require.NoError(s.t, err)
	s.longest = max(s.longest, len(body))
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, body)
}

// large sets a model of two million parameters, with a velocity.
func large(p *params.Params) {
	p.Model.Kind, p.Model.Inputs, p.Model.Hidden, p.Model.Classes = params.ModelMLP, 784, 2600, 17
	p.Training.Momentum = 0.9
}

// TestLargeModelInPieces: a model of two million parameters and its state arrive whole in answers
// of at most 1.4 MB, although every seventh request fails and blocks pass in between.
func TestLargeModelInPieces(t *testing.T) {
	stage.OnlyLong(t)
	s, c := serve(t, large)
	first := s.State()
	s.cut = func(asked int) bool {
		if asked == 5 {
			s.block(2)
		}
		return asked%7 == 0
	}
	m, err := c.Model(context.Background())
	require.NoError(t, err)
	require.True(t, bytes.Equal(app.EncodeParameters(first.Model), m.Parameters))
	pieces := (len(m.Parameters) + query.MaxRange - 1) / query.MaxRange
	require.Len(t, s.asked, pieces+pieces/6, "each piece once, and those without an answer again")
	kept, err := c.State(context.Background())
	require.NoError(t, err)
	require.Equal(t, uint64(2), kept.Height)
	again, err := app.DecodeState(kept.Height, kept.Document)
	require.NoError(t, err)
	require.Equal(t, first.Hash(), again.Hash())
	require.Less(t, s.longest, query.MaxRange*3/2)
}

// TestPiecesThatDoNotFit: a client detects a false piece or a false RangeInfo, and rejects an
// answer above the size limit.
func TestPiecesThatDoNotFit(t *testing.T) {
	medium := func(p *params.Params) { p.Model.Inputs, p.Model.Classes = 30_000, 10 }
	head := func(change func(*query.RangeInfo)) func(*abcitypes.ResponseQuery) {
		return func(r *abcitypes.ResponseQuery) {
			var l query.RangeInfo
			_ = json.Unmarshal([]byte(r.Info), &l)
			change(&l)
			info, _ := json.Marshal(l)
			r.Info = string(info)
		}
	}
	n := 0
	for name, spoil := range map[string]func(*abcitypes.ResponseQuery){
		"a bit":            func(r *abcitypes.ResponseQuery) { r.Value[7] ^= 1 },
		"another hash":     head(func(l *query.RangeInfo) { l.Hash = "00" }),
		"no end":           func(r *abcitypes.ResponseQuery) { r.Value = nil },
		"more than asked":  func(r *abcitypes.ResponseQuery) { r.Value = make([]byte, query.MaxRange+1) },
		"no words":         func(r *abcitypes.ResponseQuery) { r.Info = "" },
		"less than nought": head(func(l *query.RangeInfo) { l.Bytes = -1 }),
		"too many":         head(func(l *query.RangeInfo) { l.Bytes = 1 << 40 }),
		"another each":     head(func(l *query.RangeInfo) { n++; l.Round += uint64(n) }),
	} {
		s, c := serve(t, medium)
		s.spoil = spoil
		_, err := c.Model(context.Background())
		want := client.ErrPiece
		if name == "too many" {
			want = client.ErrTooLarge
		}
		require.ErrorIs(t, err, want, name)
	}
	s, c := serve(t, medium)
	s.cut = func(asked int) bool { return asked > 1 }
	_, err := c.Model(context.Background())
	require.ErrorIs(t, err, client.ErrUnreachable)
	_, err = c.ModelOf(context.Background(), 0, 3)
	require.ErrorIs(t, err, client.ErrUnreachable)
	s.mu.Lock()
	require.LessOrEqual(t, len(s.asked), 8, "it is given up")
	s.cut = nil
	s.mu.Unlock()
	var refusal *client.Refusal
	_, err = c.ModelOf(context.Background(), 0, 3)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, abci.CodeNotFound, refusal.Code)
}
