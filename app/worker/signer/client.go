package signer

import (
	"bytes"
	"context"
	"crypto/ed25519"
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

// timeout bounds the time of a request, including the connection. It is long enough for the signer
// to write its journal to the disk.
const timeout = 10 * time.Second

// Client is a worker.Signer that asks a Server in another process. A request without an answer
// fails with worker.ErrSigner, and the next request connects again.
type Client struct {
	http      *http.Client
	address   string
	lastError atomic.Pointer[string] // the error text of the last request, if that failed with ErrSigner; nil if not
}

// New returns a client of the signer at the given address, such as unix:///run/spdl/signer.sock or
// tcp://host:port. For TCP, certificates is the folder of the certificates. New does not connect.
// It fails if the address or the certificates are not valid.
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

// Away returns the error text of the last request if that request failed with ErrSigner, and "" if it got an answer.
func (c *Client) Away() string {
	if said := c.lastError.Load(); said != nil {
		return *said
	}
	return ""
}

// call sends a request and decodes the answer. If it fails with ErrSigner, call stores the error
// text for Away; any other result clears that text. A call whose ctx ended changes nothing.
func (c *Client) call(ctx context.Context, path string, request, into any) error {
	err := c.exchange(ctx, path, request, into)
	switch {
	case errors.Is(err, worker.ErrSigner):
		said := err.Error()
		c.lastError.Store(&said)
	case ctx.Err() == nil:
		c.lastError.Store(nil)
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
		if errors.As(err, &asked) { // the text of a URL error repeats a URL that the operator did not write
			err = asked.Err
		}
		return fmt.Errorf("%w at %s: %w", worker.ErrSigner, c.address, err)
	}
	defer func() { _ = answer.Body.Close() }() // an error after the read does not matter
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
		return remoteError{said.Error, worker.ErrSigner} // the signer could not sign, for example because its disk is full
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w at %s: %w", worker.ErrSigner, c.address, err)
	}
	return nil
}

// requestTx sends a request by call, and returns the signed transaction in the answer. It fails
// with ErrSigner if the transaction is not of the given kind.
func (c *Client) requestTx(ctx context.Context, path string, kind tx.Kind, request any) (*tx.Tx, error) {
	var a answer
	if err := c.call(ctx, path, request, &a); err != nil {
		return nil, err
	}
	t, err := tx.Decode(a.Raw)
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("%w at %s: it signed a %s, want a %s", worker.ErrSigner, c.address, t.Kind(), kind)
	}
	return t, err
}

// requestContent encodes a body, sends it to the signer in a contentRequest, and returns the signed transaction.
func (c *Client) requestContent(ctx context.Context, path, chainID string, kind tx.Kind, body tx.Body) (*tx.Tx, error) {
	content, err := body.Marshal()
	if err != nil {
		return nil, err
	}
	return c.requestTx(ctx, path, kind, contentRequest{chainID, kind, content})
}

// Keys implements worker.Signer.
func (c *Client) Keys(ctx context.Context, reload bool) (keys worker.PublicKeys, err error) {
	err = c.call(ctx, pathKeys, keysRequest{reload}, &keys)
	if err == nil && (len(keys.Signing) != ed25519.PublicKeySize || len(keys.VRF) != ed25519.PublicKeySize) {
		err = fmt.Errorf("%w at %s: it has public keys of %d and %d bytes, want %d", worker.ErrSigner, c.address,
			len(keys.Signing), len(keys.VRF), ed25519.PublicKeySize)
	}
	return keys, err
}

// Open implements worker.Signer.
func (c *Client) Open(ctx context.Context, chainID string, id []byte) (*worker.Record, error) {
	record := new(worker.Record)
	return record, c.call(ctx, pathOpen, openRequest{chainID, id}, record)
}

// Gradient implements worker.Signer.
func (c *Client) Gradient(ctx context.Context, r *worker.GradientRequest) (*tx.Tx, error) {
	return c.requestTx(ctx, pathGradient, tx.KindGradient, r)
}

// Commit implements worker.Signer.
func (c *Client) Commit(ctx context.Context, chainID string, b *tx.Commit) (*tx.Tx, error) {
	return c.requestContent(ctx, pathCommit, chainID, tx.KindCommit, b)
}

// Present implements worker.Signer.
func (c *Client) Present(ctx context.Context, chainID string, p *tx.Present) (*tx.Tx, error) {
	return c.Operation(ctx, chainID, p)
}

// Aggregate implements worker.Signer.
func (c *Client) Aggregate(ctx context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error) {
	return c.requestContent(ctx, pathAggregate, chainID, tx.KindAggregate, a)
}

// Operation asks the signer to sign an operation. It fails with ErrDenied if the signer's
// configuration does not allow operations of this kind.
func (c *Client) Operation(ctx context.Context, chainID string, body tx.Body) (*tx.Tx, error) {
	return c.requestContent(ctx, pathOperation, chainID, tx.KindOf(body), body)
}

// Consent asks the signer to sign a record of consent. It fails with ErrDenied if the signer's configuration does not
// allow records of consent. The time in the record is from the signer's clock.
func (c *Client) Consent(ctx context.Context, s consent.Subject, d consent.Decision) (r consent.Record, err error) {
	return r, c.call(ctx, pathConsent, consentRequest{s, d}, &r)
}

// Close implements worker.Signer. The signer's journal stays open for the next worker.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
