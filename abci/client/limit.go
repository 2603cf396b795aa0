package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/cometbft/cometbft/types"
)

// ErrTooLarge means that a node's answer has more bytes than an answer may have. Without
// the bound, a node that lies could fill the memory of its client.
var ErrTooLarge = errors.New("answer is too large")

// MaxAnswer bounds an answer, in bytes: CometBFT's largest block in base64, and
// what is around it. A state of the largest model has less than half.
const MaxAnswer = types.MaxBlockSizeBytes/3*4 + 16<<20

// limited lets answers through up to a number of bytes.
type limited struct {
	next http.RoundTripper
	most int64
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.ContentLength > l.most {
		return nil, errors.Join(fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, answer.ContentLength, l.most), answer.Body.Close())
	}
	answer.Body = &body{ReadCloser: answer.Body, left: l.most, most: l.most}
	return answer, nil
}

// body is the body of an answer. Reading it beyond its bound fails.
type body struct {
	io.ReadCloser
	left, most int64
}

func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one byte more shows that an answer is too large
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), 0
		return n, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.most)
	}
	b.left -= int64(n)
	return n, err
}
