package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// node answers each RPC with the next of its answers, and repeats the last one. An answer is the
// member "result" or "error" of the response.
func node(t *testing.T, answers ...string) *client.Client {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		answer := answers[min(int(asked.Add(1)), len(answers))-1]
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answer)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	return c
}

func fault(data string) string {
	return fmt.Sprintf(`"error":{"code":-32603,"message":"Internal error","data":%q}`, data)
}

func nobody(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New("tcp://127.0.0.1:1")
	require.NoError(t, err)
	return c
}

func TestBroadcast(t *testing.T) {
	leave := apptest.Sign(0, &tx.Remove{})
	verdict := func(code int) string {
		return fmt.Sprintf(`"result":{"code":%d,"data":"","log":"because","codespace":"","hash":""}`, code)
	}
	ctx := context.Background()
	send := (*client.Client).Broadcast
	require.NoError(t, send(node(t, verdict(0)), ctx, leave))
	require.NoError(t, send(node(t, fault("tx already exists in cache")), ctx, leave))
	var refusal *client.Refusal
	require.ErrorAs(t, send(node(t, verdict(16)), ctx, leave), &refusal)
	require.Equal(t, client.Refusal{Code: 16, Log: "because"}, *refusal)
	err := send(node(t, fault("mempool is full")), ctx, leave)
	require.ErrorIs(t, err, client.ErrNotTaken)
	require.NotErrorIs(t, err, client.ErrUnreachable)
	require.ErrorIs(t, send(node(t, `"nothing":0`), ctx, leave), client.ErrUnreachable)
	require.ErrorIs(t, send(nobody(t), ctx, leave), client.ErrUnreachable)
}

// txsNode answers as a node whose path abci.TxsPath is served by txs. Its other paths admit every
// transaction. The counters have the requests to the path, and those to the others.
func txsNode(t *testing.T, txs http.HandlerFunc) (c *client.Client, toPath, toRPC *atomic.Int64) {
	t.Helper()
	toPath, toRPC = new(atomic.Int64), new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == abci.TxsPath {
			toPath.Add(1)
			txs(w, r)
			return
		}
		toRPC.Add(1)
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"code":0,"data":"","hash":""}}`, call.ID)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	return c, toPath, toRPC
}

// answers returns the body with which a node answers a request with transactions.
func answers(t *testing.T, all ...*abcitypes.Response) []byte {
	t.Helper()
	var body bytes.Buffer
	for _, one := range all {
		require.NoError(t, abcitypes.WriteMessage(one, &body))
	}
	return body.Bytes()
}

func three() []*tx.Tx {
	return []*tx.Tx{apptest.Sign(0, &tx.Remove{}), apptest.Sign(1, &tx.Remove{}), apptest.Sign(2, &tx.Remove{})}
}

// TestBroadcastAll: each transaction of a request has its own verdict, as Broadcast would return it.
func TestBroadcastAll(t *testing.T) {
	txs := append(three(), apptest.Sign(3, &tx.Remove{}))
	c, toPath, toRPC := txsNode(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent protomem.Txs
		if err = errors.Join(err, sent.Unmarshal(body)); err != nil || len(sent.Txs) != len(txs) ||
			r.Method != http.MethodPost || r.Header.Get("Content-Type") != abci.TxsType {
			t.Errorf("%s of %d transactions: %v", r.Method, len(sent.Txs), err)
			return
		}
		for i, raw := range sent.Txs {
			if !bytes.Equal(txs[i].Raw, raw) {
				t.Errorf("transaction %d is not the one sent", i)
			}
		}
		w.Header().Set("Content-Type", abci.TxsType)
		_, _ = w.Write(answers(t, abcitypes.ToResponseCheckTx(&abcitypes.ResponseCheckTx{}),
			abcitypes.ToResponseCheckTx(&abcitypes.ResponseCheckTx{Code: 16, Log: "because"}),
			abcitypes.ToResponseException("tx already exists in cache"), abcitypes.ToResponseException("mempool is full")))
	})
	errs := c.BroadcastAll(t.Context(), txs)
	require.Len(t, errs, 4)
	require.NoError(t, errs[0])
	require.Equal(t, &client.Refusal{Code: 16, Log: "because"}, errs[1])
	require.NoError(t, errs[2], "the node has it")
	require.ErrorIs(t, errs[3], client.ErrNotTaken)
	require.ErrorContains(t, errs[3], "mempool is full")
	require.Equal(t, [2]int64{1, 0}, [2]int64{toPath.Load(), toRPC.Load()})
	for _, err := range nobody(t).BroadcastAll(t.Context(), txs) {
		require.ErrorIs(t, err, client.ErrUnreachable)
	}
}

// TestBroadcastOneByOne: a node that does not serve the path gets the transactions one by one, and
// later ones too, without a request to the path. A rejected request is no proof of that, and an
// answer from a proxy that does not reach its node is no answer.
func TestBroadcastOneByOne(t *testing.T) {
	verdicts := answers(t, abcitypes.ToResponseCheckTx(&abcitypes.ResponseCheckTx{}))
	write := func(status int, kind string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}
	}
	foreign := abcitypes.ToResponseFlush()
	for name, c := range map[string]struct {
		txs                 http.HandlerFunc
		remembers, isNobody bool
	}{
		"an older node":      {write(404, "text/plain", nil), true, false},
		"a proxy":            {write(405, "text/html", []byte("<html>")), true, false},
		"forbidden":          {write(403, "text/html", []byte("<html>")), true, false},
		"a page":             {write(200, "text/html", []byte("<html>")), true, false},
		"JSON":               {write(200, "application/json", []byte("{}")), true, false},
		"too few verdicts":   {write(200, abci.TxsType, verdicts), true, false},
		"too many verdicts":  {write(200, abci.TxsType, bytes.Repeat(verdicts, 4)), true, false},
		"another message":    {write(200, abci.TxsType, answers(t, foreign, foreign, foreign)), true, false},
		"a length of 2^63":   {write(200, abci.TxsType, bytes.Repeat([]byte{0xff}, 20)), true, false},
		"a small body limit": {write(413, "text/plain", nil), false, false},
		"a panic":            {write(500, "application/json", []byte("{}")), false, false},
		"no node behind":     {write(502, "text/html", []byte("<html>")), false, true},
		"too many requests":  {write(429, "text/html", []byte("<html>")), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			node, toPath, toRPC := txsNode(t, c.txs)
			for range 2 {
				for _, err := range node.BroadcastAll(t.Context(), three()) {
					if c.isNobody {
						require.ErrorIs(t, err, client.ErrUnreachable)
					} else {
						require.NoError(t, err)
					}
				}
			}
			want := [2]int64{2, 6}
			if c.remembers {
				want[0] = 1
			}
			if c.isNobody {
				want[1] = 0
			}
			require.Equal(t, want, [2]int64{toPath.Load(), toRPC.Load()})
		})
	}
}

func TestIncluded(t *testing.T) {
	leave := apptest.Sign(0, &tx.Remove{})
	found := `"result":{"hash":"","height":"7","index":0,"tx_result":{"code":0},"tx":""}`
	within := func(d time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		t.Cleanup(cancel)
		return ctx
	}
	height, err := node(t, fault("tx (AB) not found"), fault("tx (AB) not found"), found).Included(within(10*time.Second),
		leave, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, int64(7), height)
	_, err = node(t, fault("tx (AB) not found")).Included(within(50*time.Millisecond), leave, time.Millisecond)
	require.ErrorContains(t, err, "deadline exceeded") // the deadline of the wait, or of a request under way
	_, err = node(t, fault("transaction indexing is disabled")).Included(within(10*time.Second), leave, time.Millisecond)
	require.ErrorContains(t, err, "indexing is disabled", "waiting would not help")
	_, err = nobody(t).Included(within(time.Second), leave, 10*time.Millisecond)
	require.ErrorIs(t, err, client.ErrUnreachable, "it may have come back")

	var asked atomic.Int64
	last := within(time.Second)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 { // the second request gets no answer before the deadline
			<-last.Done()
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	_, err = c.Included(last, leave, time.Millisecond)
	require.ErrorIs(t, err, client.ErrUnreachable, "what was wrong last, though a question was under way")
}

func TestChangeAt(t *testing.T) {
	event := `{"type":"enactment","attributes":[{"key":"kind","value":"remove"},{"key":"proposal","value":"ab"},` +
		`{"key":"refused","value":"M6"}]}`
	block := `"result":{"height":"7","finalize_block_events":[{"type":"round","attributes":[]},` + event + `]}`
	ctx := context.Background()
	enacted, err := node(t, block).EnactmentAt(ctx, 7, "ab")
	require.NoError(t, err)
	require.Equal(t, &client.Enactment{Height: 7, Kind: "remove", Refused: "M6"}, enacted)
	enacted, err = node(t, block).EnactmentAt(ctx, 7, "cd")
	require.NoError(t, err)
	require.Nil(t, enacted)
	enacted, err = node(t, fault("node is not persisting finalize block responses")).EnactmentAt(ctx, 7, "ab")
	require.NoError(t, err)
	require.Nil(t, enacted)
	_, err = nobody(t).EnactmentAt(ctx, 7, "ab")
	require.ErrorIs(t, err, client.ErrUnreachable)
}
