package client

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// TestNoRPC: if a web page, an explorer, a metrics port or a p2p listener answers at an address, the error says
// that this is no CometBFT RPC, and names the setting with the right address.
func TestNoRPC(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>explorer</html>"))
	}))
	defer page.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = w.Write([]byte(`{"error":"GET alone"}`))
	}))
	defer api.Close()
	metrics := httptest.NewServer(promhttp.Handler())
	defer metrics.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("\x20p2p handshake\r\n\r\n"))
			_ = c.Close()
		}
	}()
	all := []string{page.Listener.Addr().String(), api.Listener.Addr().String(), metrics.Listener.Addr().String()}
	for range 20 { // its bytes come before the request, or after it
		all = append(all, listener.Addr().String())
	}
	for _, at := range all {
		c, err := New(at)
		require.NoError(t, err)
		_, err = c.Status(context.Background())
		require.ErrorIs(t, err, ErrNoRPC)
		require.ErrorContains(t, err, at+" is no CometBFT RPC")
		require.ErrorContains(t, err, "rpc.laddr")
		err = c.BroadcastAll(t.Context(), []*tx.Tx{{}})[0]
		require.ErrorIs(t, err, ErrNoRPC)
		require.ErrorIs(t, err, ErrUnreachable)
	}
}
