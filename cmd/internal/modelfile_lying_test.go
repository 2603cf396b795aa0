package internal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// liar returns a client of a node that answers each RPC with the next of its answers,
// and repeats the last one.
func liar(t *testing.T, answers ...string) *client.Client {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answers[min(int(asked.Add(1)), len(answers))-1])
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	return c
}

// chainOf returns the chain as a worker beside a node sees it.
func chainOf(t *testing.T, c *client.Client) worker.Chain {
	state, err := apptest.Genesis(4, apptest.Params(4)).Encode()
	require.NoError(t, err)
	doc := &types.GenesisDoc{ChainID: apptest.ChainID, InitialHeight: 1, AppState: state,
		ConsensusParams: types.DefaultConsensusParams()}
	chain, err := light.Chain([]*client.Client{c}, light.Home{Genesis: doc}, time.Hour)
	require.NoError(t, err)
	return chain
}

// TestLyingNode: no answer, of whatever shape, ends who asked.
func TestLyingNode(t *testing.T) {
	leave := apptest.Sign(0, &tx.Remove{})
	questions := map[string]func(context.Context, *client.Client) error{
		"status":    func(ctx context.Context, c *client.Client) error { _, err := c.Status(ctx); return err },
		"broadcast": func(ctx context.Context, c *client.Client) error { return c.Broadcast(ctx, leave) },
		"included": func(ctx context.Context, c *client.Client) error {
			_, err := c.Included(ctx, leave, time.Hour)
			return err
		},
		"enactment": func(ctx context.Context, c *client.Client) error { _, err := c.EnactmentAt(ctx, 3, "ab"); return err },
		"enactment of": func(ctx context.Context, c *client.Client) error {
			_, err := chainview.EnactmentOf(ctx, c.RPC(), "ab")
			return err
		},
		"prove": func(ctx context.Context, c *client.Client) error {
			p, err := c.Prove(ctx, "round/0/0")
			if err == nil {
				_, err = p.Root()
			}
			return err
		},
		"header": func(ctx context.Context, c *client.Client) error {
			_, err := c.HeaderOf(ctx, "c", 1, [32]byte{})
			return err
		},
		"light": func(ctx context.Context, c *client.Client) error {
			h, err := light.Light(ctx, light.Trust{ChainID: "c", Height: 1, Hash: make([]byte, 32)}, c.Provider("c"), nil)
			if err == nil {
				_, err = h.Header(ctx, 3)
			}
			return err
		},
		"recompute": func(ctx context.Context, c *client.Client) error {
			_, err := c.Recompute(ctx, app.Record{Epoch: 1, Round: 9, Height: 5}, nil)
			return err
		},
		"recompute the first": func(ctx context.Context, c *client.Client) error {
			_, err := c.Recompute(ctx, app.Record{Height: 5}, nil)
			return err
		},
		"audit": func(ctx context.Context, c *client.Client) error {
			r, err := audit.OpenRemote(ctx, c)
			if err == nil {
				_, err = r.Next(ctx)
			}
			return err
		},
		"await": func(ctx context.Context, c *client.Client) error {
			_, err := chainOf(t, c).Await(ctx, []byte("x"), nil)
			return err
		},
		"lead": func(ctx context.Context, c *client.Client) error {
			_, err := chainOf(t, c).Lead(ctx, 0)
			return err
		},
	}
	for _, answer := range []string{
		`null`, `{}`, `[]`, `""`, `0`,
		`{"genesis":{}}`, `{"genesis":{"app_state":{}}}`, `{"response":{}}`, `{"response":{"value":"e30="}}`,
		`{"response":{"value":"bnVsbA=="}}`, `{"response":{"code":22}}`,
		`{"block":{}}`, `{"block":null}`, `{"block":{"header":{"height":"1"},"data":{"txs":[null,""]},` +
			`"evidence":{"evidence":[null]}}}`,
		`{"signed_header":{}}`, `{"signed_header":{"header":{},"commit":null}}`,
		`{"signed_header":{"header":null,"commit":{}}}`,
		`{"signed_header":{"header":{"height":"1","chain_id":"c"},"commit":{"height":"1","signatures":[null,{}]}}}`,
		`{"validators":[null],"total":"1","count":"1","block_height":"1"}`, `{"chunk":"0","total":"1","data":""}`,
		`{"chunk":"0","total":"-1","data":"e30="}`,
		`{"chunk":"0","total":"999999999999","data":""}`, `{"txs_results":[null],"finalize_block_events":[null]}`,
		`{"finalize_block_events":[{"type":"enactment","attributes":[{}]}]}`,
		`{"response":{"value":"AAA=","proofOps":{"ops":[{}]}}}`,
		`{"response":{"value":"AAA=","proofOps":{"ops":[{"type":"simple:v","data":"CgA="}]}}}`,
		`{"response":{"value":"AAA=","proofOps":{"ops":[{"type":"simple:v","data":"EgA="}]}}}`,
		`{"response":{"value":"AAA=","proofOps":{"ops":[{"type":"spdl:list","key":"Kg==","data":"e30="}]}}}`,
		`{"response":{"value":"AAA=","proofOps":{"ops":[{"type":"spdl:record","key":"bW9kZWxfaGFzaA==","data":"e30="}]}}}`,
	} {
		c := liar(t, `"result":`+answer)
		for question, ask := range questions {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			require.NotPanics(t, func() { _ = ask(ctx, c) }, "%s of %s", question, answer)
			cancel()
		}
	}

	// A genesis in chunks without end.
	c := liar(t, `"result":{}`, `"result":{"response":{}}`, `"result":{"chunk":"0","total":"999999999999","data":""}`)
	_, err := audit.OpenRemote(context.Background(), c)
	require.ErrorContains(t, err, "genesis: chunk 0 of 999999999999 is empty")
}
