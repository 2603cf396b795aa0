package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
)

// TestAnswersAreBounded: an answer of a node is read up to a bound, with or without a
// Content-Length, and every honest answer fits.
func TestAnswersAreBounded(t *testing.T) {
	require.Greater(t, int64(MaxAnswer), int64(types.MaxBlockSizeBytes)*4/3, "CometBFT's largest block in base64")
	const most = 4096
	var size atomic.Int64
	var announced atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		head, tail, left := `{"jsonrpc":"2.0","id":-1,"result":{"response":{"value":"`, `"}}}`, size.Load()
		if announced.Load() {
			w.Header().Set("Content-Length", fmt.Sprint(int64(len(head)+len(tail))+left))
		}
		fmt.Fprint(w, head)
		for chunk := strings.Repeat("A", 1024); left > 0; left -= int64(len(chunk)) {
			if _, err := io.WriteString(w, chunk[:min(left, int64(len(chunk)))]); err != nil {
				return // the client does not read to the end
			}
		}
		fmt.Fprint(w, tail)
	}))
	defer server.Close()
	c, err := open(server.URL, most, requestTimeout)
	require.NoError(t, err)
	for _, says := range []bool{false, true} {
		announced.Store(says)
		size.Store(1 << 40)
		err := c.Query(context.Background(), "/status", new(any))
		require.ErrorIs(t, err, ErrTooLarge)
		require.ErrorContains(t, err, "4096")
		size.Store(most - 100)
		require.NotErrorIs(t, c.Query(context.Background(), "/status", new(any)), ErrTooLarge)
	}

	for length := range 20 {
		for _, step := range []int{1, 7, 512} {
			b := &body{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, length))), remaining: 10, maxBytes: 10}
			n, buffer := 0, make([]byte, step)
			var err error
			for err == nil {
				var got int
				got, err = b.Read(buffer)
				n += got
			}
			require.Equal(t, min(length, 10), n)
			require.Equal(t, length > 10, errors.Is(err, ErrTooLarge), "%d bytes, %d a read: %v", length, step, err)
		}
	}
}
