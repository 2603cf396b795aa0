// Package client sends requests to a node over CometBFT's RPC: typed queries, and the requests of a
// worker in another process.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	rpchttp "github.com/cometbft/cometbft/rpc/client/http"
	jsonrpc "github.com/cometbft/cometbft/rpc/jsonrpc/client"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// ErrUnreachable means that the node did not answer a request.
var ErrUnreachable = errors.New("node did not answer")

// Refusal is the error for a node's answer with a result code other than 0.
type Refusal struct {
	Code uint32
	Log  string
}

// Error returns the node's log text with the number of the violated rule after it, as in "training
// is finished (B4, code 10)".
func (r *Refusal) Error() string {
	rule, text := app.SplitRule(r.Log)
	if rule == "" {
		return fmt.Sprintf("%s (code %d)", r.Log, r.Code)
	}
	return fmt.Sprintf("%s (%s, code %d)", text, rule, r.Code)
}

// Client queries one node. It is safe for concurrent use.
type Client struct {
	rpc      *rpchttp.HTTP
	plain    *http.Client // without the size limit and the check of answers (limitedTransport)
	address  string
	lacksTxs atomic.Bool // whether the node answers, and does not serve abci.TxsPath
}

// requestTimeout is the timeout of one request. Without this timeout, a node that accepts
// connections and never answers would block callers without a deadline, such as workers and audits.
const requestTimeout = time.Minute

// idleConnections is the max number of connections that stay open between requests. An explorer makes up to
// idleConnections requests at once, and the standard library keeps only 2 open connections by default.
const idleConnections = 16

// New returns a client for a node's RPC address, without connecting. The address is tcp://host:port, http://host:port,
// https://host with or without a port, or unix:///path for a socket; host:port without a scheme means tcp. The client
// reads at most MaxAnswer bytes of an answer.
func New(address string) (*Client, error) { return open(address, MaxAnswer, requestTimeout) }

func open(address string, maxBytes int64, timeout time.Duration) (*Client, error) {
	if _, _, err := net.SplitHostPort(address); err == nil && !strings.Contains(address, "/") {
		address = "tcp://" + address
	}
	if err := check(address); err != nil {
		return nil, err
	}
	web, err := jsonrpc.DefaultHTTPClient(address)
	if err != nil {
		return nil, fmt.Errorf("node address %q: %w", address, err)
	}
	if t, ok := web.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = idleConnections
	}
	plain := &http.Client{Transport: web.Transport, Timeout: timeout}
	web.Transport, web.Timeout = limitedTransport{web.Transport, maxBytes}, timeout
	rpc, err := rpchttp.NewWithClient(address, "/websocket", web)
	if err != nil {
		return nil, fmt.Errorf("node address %q: %w", address, err)
	}
	return &Client{rpc: rpc, plain: plain, address: address}, nil
}

// check returns an error unless address names a Unix socket or a host with a port. With https the port may be missing.
// CometBFT's client would accept every address, and each request to a wrong one would fail as if the node were down.
func check(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("node address %q: %w", address, err)
	}
	named := false
	switch u.Scheme {
	case "tcp", "http", "https":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		usual := u.Scheme == "https" && u.Port() == "" // https without a port means port 443
		named = u.Hostname() != "" && (usual || err == nil && port > 0)
	case "unix":
		named = u.Host+u.Path != ""
	}
	if !named {
		return fmt.Errorf("node address %q, want tcp://host:port, http://host:port or https://host, with a port "+
			"from 1 to 65535", address)
	}
	return nil
}

// RPC returns CometBFT's RPC client for the node, with all methods of CometBFT's RPC.
func (c *Client) RPC() *rpchttp.HTTP { return c.rpc }

// Query sends a query with the given path to the application, and decodes the JSON answer into
// answer. It fetches models and states in pieces. The error is a *Refusal if the node answers with
// a result code other than 0, and wraps ErrUnreachable if the node does not answer.
func (c *Client) Query(ctx context.Context, path string, answer any) (err error) {
	switch answer := answer.(type) {
	case *query.ModelState:
		*answer, err = c.fetchModel(ctx, path)
		return err
	case *query.StateAfter:
		*answer, err = c.fetchCheckpoint(ctx, path)
		return err
	}
	r, err := c.rpc.ABCIQuery(ctx, path, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if r.Response.Code != abci.CodeOK {
		return &Refusal{Code: r.Response.Code, Log: r.Response.Log}
	}
	if err := json.Unmarshal(r.Response.Value, answer); err != nil {
		return fmt.Errorf("answer to %s: %w", path, err)
	}
	return nil
}

// Status returns the node's status, which has the chain's height, round and application hash.
func (c *Client) Status(ctx context.Context) (query.Status, error) {
	return Ask[query.Status](ctx, c, "/status")
}

// Params returns the parameters of the running epoch.
func (c *Client) Params(ctx context.Context) (params.Params, error) {
	return Ask[params.Params](ctx, c, "/params")
}

// Participants returns all registered participants, by index.
func (c *Client) Participants(ctx context.Context) ([]app.Participant, error) {
	return Ask[[]app.Participant](ctx, c, "/participants")
}

// Model returns the current model.
func (c *Client) Model(ctx context.Context) (query.ModelState, error) {
	return Ask[query.ModelState](ctx, c, "/model")
}

// Ask sends a query with the given path, and returns the decoded answer. Its errors are those of Query.
func Ask[T any](ctx context.Context, c *Client, path string) (answer T, err error) {
	err = c.Query(ctx, path, &answer)
	return answer, err
}

func number(x uint64) string { return strconv.FormatUint(x, 10) }
