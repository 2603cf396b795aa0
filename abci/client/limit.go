package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cometbft/cometbft/types"
)

// ErrTooLarge means that a node's answer exceeds the size limit. Without this limit a malicious
// node could fill the client's memory.
var ErrTooLarge = errors.New("answer is too large")

// MaxAnswer is the max size of an answer in bytes. It is enough for CometBFT's largest block in
// base64. A state with the largest model takes less than half of that.
const MaxAnswer = types.MaxBlockSizeBytes/3*4 + 16<<20

// ErrNoRPC means that something other than a CometBFT RPC answers at the node's address.
var ErrNoRPC = errors.New("is no CometBFT RPC")

// unasked is part of the error text of net/http for a server that sends bytes before it gets a
// request, as a p2p port does.
const unasked = "readLoopPeekFailLocked: %!w(<nil>)"

// checkAnswer returns ErrNoRPC for an answer that a CometBFT RPC never gives to this client: bytes
// that are no HTTP, a web page, metrics, or a status that means an unknown path or method. It
// returns any other err of the HTTP transport unchanged.
func checkAnswer(r *http.Request, answer *http.Response, err error) error {
	said := ""
	switch {
	case err != nil && (strings.Contains(err.Error(), "malformed HTTP") || strings.Contains(err.Error(), unasked)):
		said = "no HTTP"
	case err != nil:
		return err
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed ||
		isPage(answer.Header.Get("Content-Type")):
		said = fmt.Sprintf("%q, %q", answer.Status, answer.Header.Get("Content-Type"))
		err = answer.Body.Close()
	default:
		return nil
	}
	return errors.Join(fmt.Errorf("%s %w: it answers %s; the address of a node's RPC is rpc.laddr of its config.toml, by "+
		"default port 26657, and a proxy in front of it may reject the request", r.URL.Host, ErrNoRPC, said), err)
}

// isPage reports whether a content type is one of web pages or of Prometheus' metrics.
func isPage(contentType string) bool {
	return strings.HasPrefix(contentType, "text/html") || strings.HasPrefix(contentType, "text/plain; version=") ||
		strings.HasPrefix(contentType, "application/openmetrics-text")
}

// limitedTransport is an HTTP transport that limits the size of answers, in bytes.
type limitedTransport struct {
	transport http.RoundTripper
	maxBytes  int64
}

func (l limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.transport.RoundTrip(r)
	if err := checkAnswer(r, answer, err); err != nil {
		return nil, err
	}
	if answer.ContentLength > l.maxBytes {
		return nil, errors.Join(fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, answer.ContentLength, l.maxBytes),
			answer.Body.Close())
	}
	answer.Body = &body{ReadCloser: answer.Body, remaining: l.maxBytes, maxBytes: l.maxBytes}
	return answer, nil
}

// body is the body of an answer. Reading beyond the limit fails.
type body struct {
	io.ReadCloser
	remaining, maxBytes int64
}

func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.remaining+1 {
		p = p[:b.remaining+1] // one byte more shows whether the answer is too large
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.remaining {
		n, b.remaining = int(b.remaining), 0
		return n, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.maxBytes)
	}
	b.remaining -= int64(n)
	return n, err
}
