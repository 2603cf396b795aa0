package signer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
)

// timeout bounds a request, with its connection. A signature waits for the signer's disk.
const timeout = 10 * time.Second

// Client is a worker.Signer in another process. A request that is not answered fails with
// worker.ErrSigner, and the next one connects again.
type Client struct {
	http    *http.Client
	address string
	away    atomic.Pointer[string] // why the last request was not answered; nil: it was
}

// New returns the client of a signer at an address, as unix:///run/spdl/signer.sock or
// tcp://host:port, with the certificates of a folder for TCP. It does not connect.
func New(address, certificates string) (*Client, error) {
	dial, err := dialer(address, certificates)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxIdleConns:    2,
		IdleConnTimeout: time.Minute,
	}
	return &Client{http: &http.Client{Transport: transport, Timeout: timeout}, address: address}, nil
}

// Address returns the signer's address.
func (c *Client) Address() string { return c.address }

// Away returns why the last request was not answered, "" if it was.
func (c *Client) Away() string {
	if said := c.away.Load(); said != nil {
		return *said
	}
	return ""
}

// call sends a request, decodes the answer, and keeps whether there was one.
func (c *Client) call(ctx context.Context, path string, request, into any) error {
	err := c.exchange(ctx, path, request, into)
	switch {
	case errors.Is(err, worker.ErrSigner):
		said := err.Error()
		c.away.Store(&said)
	case ctx.Err() == nil:
		c.away.Store(nil)
	}
	return err
}

func (c *Client) exchange(ctx context.Context, path string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://signer"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var asked *url.Error
		if errors.As(err, &asked) { // its text repeats a URL that nobody gave
			err = asked.Err
		}
		return fmt.Errorf("%w at %s: %w", worker.ErrSigner, c.address, err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxRequest))
	if err != nil {
		return fmt.Errorf("%w at %s: %w", worker.ErrSigner, c.address, err)
	}
	if answer.StatusCode != http.StatusOK {
		var said refusal
		if err := json.Unmarshal(data, &said); err != nil || said.Error == "" {
			return fmt.Errorf("%w at %s: %s", worker.ErrSigner, c.address, answer.Status)
		}
		if is := errorsByKind[said.Kind]; is != nil {
			return remoteError{said.Error, is}
		}
		return remoteError{said.Error, worker.ErrSigner} // as a full disk
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w at %s: %w", worker.ErrSigner, c.address, err)
	}
	return nil
}

// signed is call for a signed transaction.
func (c *Client) signed(ctx context.Context, path string, request any) (*tx.Tx, error) {
	var a answer
	if err := c.call(ctx, path, request, &a); err != nil {
		return nil, err
	}
	return tx.Decode(a.Raw)
}

// content is signed for the message of a body.
func (c *Client) content(ctx context.Context, path, chainID string, kind tx.Kind, body tx.Body) (*tx.Tx, error) {
	content, err := body.Marshal()
	if err != nil {
		return nil, err
	}
	return c.signed(ctx, path, contentRequest{chainID, kind, content})
}

// Keys implements worker.Signer.
func (c *Client) Keys(ctx context.Context, reload bool) (keys worker.PublicKeys, err error) {
	return keys, c.call(ctx, pathKeys, keysRequest{reload}, &keys)
}

// Open implements worker.Signer.
func (c *Client) Open(ctx context.Context, chainID string, id []byte) (*worker.Record, error) {
	record := new(worker.Record)
	return record, c.call(ctx, pathOpen, openRequest{chainID, id}, record)
}

// Gradient implements worker.Signer.
func (c *Client) Gradient(ctx context.Context, r *worker.GradientRequest) (*tx.Tx, error) {
	return c.signed(ctx, pathGradient, r)
}

// Commit implements worker.Signer.
func (c *Client) Commit(ctx context.Context, chainID string, b *tx.Commit) (*tx.Tx, error) {
	return c.content(ctx, pathCommit, chainID, tx.KindCommit, b)
}

// Aggregate implements worker.Signer.
func (c *Client) Aggregate(ctx context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error) {
	return c.content(ctx, pathAggregate, chainID, tx.KindAggregate, a)
}

// Operation signs an operation, if the signer's configuration allows its kind.
func (c *Client) Operation(ctx context.Context, chainID string, body tx.Body) (*tx.Tx, error) {
	return c.content(ctx, pathOperation, chainID, tx.KindOf(body), body)
}

// Consent signs a record of consent, if the signer's configuration allows it. The time in the record
// is the signer's.
func (c *Client) Consent(ctx context.Context, s consent.Subject, d consent.Decision) (r consent.Record, err error) {
	return r, c.call(ctx, pathConsent, consentRequest{s, d}, &r)
}

// Close implements worker.Signer. The signer's journal stays open, for the next worker.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
