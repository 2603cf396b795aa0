package network

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	rpcserver "github.com/cometbft/cometbft/rpc/jsonrpc/server"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// service returns the RPC of a node that has the route /health, and whose mempool admits a
// transaction, or answers "full", "bad" and "panic" as they say.
func service(laddr string, maxBody int64) rpcService {
	c := config.DefaultRPCConfig()
	c.ListenAddress, c.MaxBodyBytes = laddr, maxBody
	health := func(*rpctypes.Context) (*coretypes.ResultHealth, error) { return &coretypes.ResultHealth{}, nil }
	judge := func(_ *rpctypes.Context, raw types.Tx) (*coretypes.ResultBroadcastTx, error) {
		switch string(raw) {
		case "full":
			return nil, errors.New("mempool is full")
		case "bad":
			return &coretypes.ResultBroadcastTx{Code: 16, Log: "because"}, nil
		case "panic":
			panic("a fault of the application")
		}
		return &coretypes.ResultBroadcastTx{}, nil
	}
	routes := map[string]*rpcserver.RPCFunc{"health": rpcserver.NewRPCFunc(health, "")}
	return rpcService{c, []string{"node.example"}, routes, judge, func(string) error { return nil }, log.NewNopLogger()}
}

func raws(all ...string) (txs []*tx.Tx) {
	for _, raw := range all {
		txs = append(txs, &tx.Tx{Raw: []byte(raw)})
	}
	return txs
}

func encoded(t testing.TB, raw ...[]byte) []byte {
	t.Helper()
	body, err := (&protomem.Txs{Txs: raw}).Marshal()
	require.NoError(t, err)
	return body
}

// TestServe: every address of rpc.laddr serves CometBFT's routes and the path for transactions, which
// answers each transaction by itself. A panic of one request ends only that request. With a
// certificate, the addresses serve TLS. The socket of a killed node is replaced.
func TestServe(t *testing.T) {
	tcp, socket := "tcp://"+stage.Address(t), "unix://"+filepath.Join(t.TempDir(), "rpc")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: strings.TrimPrefix(socket, "unix://"), Net: "unix"})
	require.NoError(t, err)
	killed.SetUnlinkOnClose(false) // a killed node leaves its socket behind
	require.NoError(t, killed.Close())
	all, err := service(tcp+", "+socket, 1000).serve()
	require.NoError(t, err)
	defer func() { _ = all.Close() }()
	require.Len(t, all.listeners, 2)
	for _, at := range []string{tcp, socket} {
		c, err := client.New(at)
		require.NoError(t, err)
		_, err = c.RPC().Health(t.Context())
		require.NoError(t, err)
		errs := c.BroadcastAll(t.Context(), raws("full", "", "bad"))
		require.ErrorIs(t, errs[0], client.ErrNotTaken)
		require.ErrorContains(t, errs[0], "mempool is full")
		require.NoError(t, errs[1])
		require.Equal(t, &client.Refusal{Code: 16, Log: "because"}, errs[2])
	}
	body := encoded(t, []byte("panic"))
	answer, err := http.Post("http"+strings.TrimPrefix(tcp, "tcp")+abci.TxsPath, abci.TxsType, bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode)
	_, err = service(tcp, 1000).serve()
	require.ErrorContains(t, err, "address already in use")
	require.NoError(t, all.Close())
	_, err = net.Dial("tcp", strings.TrimPrefix(tcp, "tcp://"))
	require.Error(t, err)
}

func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	s := service("tcp://"+stage.Address(t), 1000)
	s.conf.TLSCertFile, s.conf.TLSKeyFile = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	for file, block := range map[string]*pem.Block{s.conf.TLSCertFile: {Type: "CERTIFICATE", Bytes: cert},
		s.conf.TLSKeyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	all, err := s.serve()
	require.NoError(t, err)
	defer func() { _ = all.Close() }()
	roots := x509.NewCertPool()
	root, err := x509.ParseCertificate(cert)
	require.NoError(t, err)
	roots.AddCert(root)
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	answer, err := c.Post("https"+strings.TrimPrefix(s.conf.ListenAddress, "tcp")+abci.TxsPath, abci.TxsType,
		bytes.NewReader(encoded(t, nil)))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

// TestTxsLimits: a request beyond a limit is rejected with a status, and names the bound.
func TestTxsLimits(t *testing.T) {
	s := service("tcp://"+stage.Address(t), 1000)
	all, err := s.serve()
	require.NoError(t, err)
	defer func() { _ = all.Close() }()
	most := make([][]byte, abci.MaxTxs)
	for name, c := range map[string]struct {
		method, kind string
		body         []byte
		status       int
		text         string
	}{
		"the most":      {"POST", abci.TxsType, encoded(t, most...), 200, ""},
		"one more":      {"POST", abci.TxsType, encoded(t, append(most, nil)...), 400, "more than 64"},
		"none":          {"POST", abci.TxsType, nil, 400, "0 transactions in a request, want 1 to 64"},
		"the longest":   {"POST", abci.TxsType, encoded(t, make([]byte, 997)), 200, ""},
		"too long":      {"POST", abci.TxsType, encoded(t, make([]byte, 998)), 413, "more than 1000 bytes"},
		"cut off":       {"POST", abci.TxsType, encoded(t, make([]byte, 9))[:8], 400, "transaction 0"},
		"another field": {"POST", abci.TxsType, []byte{0x12, 0}, 400, "field 1"},
		"a length of 2^63": {"POST", abci.TxsType, append([]byte{10}, bytes.Repeat([]byte{0xff}, 9)...), 400,
			"transaction 0"},
		"JSON":              {"POST", "application/json", []byte("{}"), 415, "want application/x-protobuf"},
		"GET":               {"GET", "", nil, 405, "want POST"},
		"a preflight":       {"OPTIONS", "", nil, 405, "want POST"},
		"no type":           {"POST", "", encoded(t, nil), 415, "want application/x-protobuf"},
		"a batch of routes": {"POST", abci.TxsType, []byte("[" + strings.Repeat("{},", 20) + "{}]"), 400, "field 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), c.method,
				"http"+strings.TrimPrefix(s.conf.ListenAddress, "tcp")+abci.TxsPath, bytes.NewReader(c.body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", c.kind)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer func() { _ = answer.Body.Close() }()
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Equal(t, c.status, answer.StatusCode, string(text))
			require.Contains(t, string(text), c.text)
		})
	}
}

// FuzzTxs: a body of any bytes has an answer. It is one verdict for each transaction that CometBFT's
// decoder finds, or the status 400.
func FuzzTxs(f *testing.F) {
	f.Add(encoded(f, []byte("good"), []byte("bad"), nil, []byte("full")))
	f.Add([]byte{10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add(bytes.Repeat([]byte{10, 0}, 1000))
	f.Add([]byte{11, 10, 0, 12})
	s := service("", 1<<20)
	judge := s.broadcast
	s.broadcast = func(c *rpctypes.Context, raw types.Tx) (*coretypes.ResultBroadcastTx, error) {
		if string(raw) == "panic" { // CometBFT's server recovers, which this test does not run
			return nil, errors.New("panic")
		}
		return judge(c, raw)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, abci.TxsPath, bytes.NewReader(body))
		r.Header.Set("Content-Type", abci.TxsType)
		w := httptest.NewRecorder()
		s.serveTxs(w, r)
		if w.Code != http.StatusOK {
			require.Equal(t, http.StatusBadRequest, w.Code)
			return
		}
		var sent protomem.Txs
		require.NoError(t, sent.Unmarshal(body))
		require.NotEmpty(t, sent.Txs)
		require.LessOrEqual(t, len(sent.Txs), abci.MaxTxs)
		for _, raw := range sent.Txs {
			var one abcitypes.Response
			require.NoError(t, abcitypes.ReadMessage(w.Body, &one))
			require.Equal(t, string(raw) == "full", one.GetException() != nil)
			if v := one.GetCheckTx(); v != nil {
				require.Equal(t, string(raw) == "bad", v.Code == 16)
			}
		}
		require.Zero(t, w.Body.Len())
	})
}

// TestForeignPages: over loopback, where browsers send requests too, a page of another site reaches no route: neither
// under a name that resolves to this host, nor by its origin, nor by a content type that needs no preflight. Names
// in api.hosts and origins in cors_allowed_origins are served.
func TestForeignPages(t *testing.T) {
	s := service("tcp://"+stage.Address(t), 1000)
	s.conf.CORSAllowedOrigins = []string{"https://page.example"}
	all, err := s.serve()
	require.NoError(t, err)
	defer func() { _ = all.Close() }()
	at := strings.TrimPrefix(s.conf.ListenAddress, "tcp://")
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"health"}`)
	for _, x := range []struct {
		method, path, host, origin, kind string
		body                             []byte
		code                             int
	}{
		{"POST", "/", at, "", "application/json", call, 200},
		{"POST", "/", at, "http://" + at, "application/json; charset=utf-8", call, 200},
		{"POST", "/", "localhost:1", "", "application/json", call, 200},
		{"POST", "/", "NODE.example", "", "application/json", call, 200},
		{"POST", "/", at, "https://page.example", "application/json", call, 200},
		{"GET", "/health", at, "", "", nil, 200},
		{"POST", abci.TxsPath, at, "", abci.TxsType, encoded(t, nil), 200},

		{"POST", "/", "evil.example", "", "application/json", call, 421},
		{"GET", "/health", "evil.example:26657", "", "", nil, 421},
		{"GET", "/websocket", "evil.example", "", "", nil, 421},
		{"POST", abci.TxsPath, "evil.example", "", abci.TxsType, encoded(t, nil), 421},
		{"POST", "/", at, "https://evil.example", "application/json", call, 403},
		{"GET", "/websocket", at, "https://evil.example", "", nil, 403},
		{"GET", "/health", at, "null", "", nil, 403},
		{"POST", abci.TxsPath, at, "https://evil.example", abci.TxsType, encoded(t, nil), 403},
		{"POST", "/", at, "", "text/plain", call, 415},
		{"POST", "/", at, "", "", call, 415},
		{"POST", "/health", at, "", "application/x-www-form-urlencoded", nil, 415},
	} {
		r, err := http.NewRequestWithContext(t.Context(), x.method, "http://"+at+x.path, bytes.NewReader(x.body))
		require.NoError(t, err)
		r.Host = x.host
		r.Header.Set("Origin", x.origin)
		r.Header.Set("Content-Type", x.kind)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, x.code, answer.StatusCode, "%+v", x)
	}
}
