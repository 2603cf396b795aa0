package client_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		if _ = json.NewDecoder(r.Body).Decode(&request); request.ID == nil { // a form
			request.ID = json.RawMessage("-1")
		}
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
	for name, send := range map[string]func(*client.Client, context.Context,
		*tx.Tx) error{"broadcast": (*client.Client).Broadcast, "form": (*client.Client).BroadcastForm} {
		t.Run(name, func(t *testing.T) {
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
		})
	}
}

// TestBroadcastAll: each transaction of a request has its own verdict, in whatever order the node
// answers. A node that takes no batch gets the transactions one by one.
func TestBroadcastAll(t *testing.T) {
	txs := []*tx.Tx{apptest.Sign(0, &tx.Remove{}), apptest.Sign(1, &tx.Remove{}), apptest.Sign(2, &tx.Remove{})}
	for name, batches := range map[string]bool{"a batch": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			var sent [][]byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if raw, form := strings.CutPrefix(r.FormValue("tx"), "0x"); form {
					data, err := hex.DecodeString(raw)
					require.NoError(t, err)
					sent = append(sent, data)
					fmt.Fprint(w, `{"jsonrpc":"2.0","id":-1,"result":{"code":0,"data":"","hash":""}}`)
					return
				}
				var calls []struct {
					ID     int                 `json:"id"`
					Method string              `json:"method"`
					Params struct{ Tx []byte } `json:"params"`
				}
				require.NoError(t, json.NewDecoder(r.Body).Decode(&calls))
				if !batches {
					fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"batch request exceeds maximum"}}`)
					return
				}
				for i, c := range calls {
					require.Equal(t, [2]any{i, "broadcast_tx_sync"}, [2]any{c.ID, c.Method})
					sent = append(sent, c.Params.Tx)
				}
				fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":2,"result":{"code":16,"log":"because"}},{"jsonrpc":"2.0","id":0,%s}]`,
					fault("tx already exists in cache"))
			}))
			defer server.Close()
			c, err := client.New(server.URL)
			require.NoError(t, err)
			errs := c.BroadcastAll(t.Context(), txs)
			require.Len(t, errs, 3)
			require.Len(t, sent, 3)
			for i, raw := range sent {
				require.Equal(t, txs[i].Raw, raw)
			}
			require.NoError(t, errs[0])
			if batches {
				require.ErrorIs(t, errs[1], client.ErrUnreachable, "the node has not answered this call")
				require.Equal(t, &client.Refusal{Code: 16, Log: "because"}, errs[2])
			}
		})
	}
	for _, err := range nobody(t).BroadcastAll(t.Context(), txs) {
		require.ErrorIs(t, err, client.ErrUnreachable)
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
