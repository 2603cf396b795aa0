//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	stdnet "net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// authority issues certificates for a test.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{T: t}
	a.cert, a.key = a.issue(name, true)
	return a
}

// issue makes a certificate for a name, which the authority signs, or itself before there is one.
func (a *authority) issue(name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	a.n++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: isCA, BasicConstraintsValid: true, DNSNames: []string{name},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a, err)
	return cert, key
}

// client returns an HTTP client with a certificate for a name; without one, if the name is "".
func (a *authority) client(server *x509.Certificate, name string) *http.Client {
	a.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server)
	conf := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	if name != "" {
		cert, key := a.issue(name, false)
		conf.Certificates = []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
	}
	// A request is written at once, since the proxy closes the connection in the midst of one that is too long.
	const longest = 1 << 14
	return &http.Client{Transport: &http.Transport{TLSClientConfig: conf, WriteBufferSize: longest}, Timeout: time.Minute}
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// frontDoor starts nginx with docs/proxy/nginx.conf, in which the address that it listens at, those
// of the node and the folder of the certificates are replaced. It returns where nginx listens.
func frontDoor(t *testing.T, readers *authority, server *authority, explorer, rpc string) string {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		nginx = "/usr/sbin/nginx" // which is not in everybody's PATH
	}
	if _, err := os.Stat(nginx); err != nil {
		t.Skip("nginx is not installed (Debian: nginx)")
	}
	dir, at := t.TempDir(), stage.Address(t)
	key, err := x509.MarshalPKCS8PrivateKey(server.key)
	require.NoError(t, err)
	writePEM(t, filepath.Join(dir, "server.pem"), "CERTIFICATE", server.cert.Raw)
	writePEM(t, filepath.Join(dir, "server.key"), "PRIVATE KEY", key)
	writePEM(t, filepath.Join(dir, "members-ca.pem"), "CERTIFICATE", readers.cert.Raw)
	text, err := os.ReadFile("../../docs/proxy/nginx.conf")
	require.NoError(t, err)
	conf := string(text)
	for old, own := range map[string]string{"listen 443 ssl;": "listen " + at + " ssl;",
		"server 127.0.0.1:26680;": "server " + explorer + ";", "server 127.0.0.1:26657;": "server " + rpc + ";"} {
		require.Equal(t, 1, strings.Count(conf, old), old)
		conf = strings.Replace(conf, old, own, 1)
	}
	conf = strings.ReplaceAll(conf, "/etc/nginx/spdl/", dir+"/")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spdl.conf"), []byte(conf), 0o600))
	main := "events {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	main += "include " + filepath.Join(dir, "spdl.conf") + ";\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.conf"), []byte(main), 0o600))
	var log bytes.Buffer
	cmd := exec.Command(nginx, "-p", dir, "-c", filepath.Join(dir, "main.conf"), "-g",
		"daemon off; master_process off; error_log stderr warn; pid "+filepath.Join(dir, "pid")+";")
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx: %s", log.String())
		}
	})
	require.Eventually(t, func() bool {
		c, err := stdnet.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "nginx listens")
	return "https://" + at
}

// TestFrontDoor: nginx with docs/proxy/nginx.conf stands before a node, whose unsafe RPC is on to
// make it worse. Without a certificate nothing is read; with one of another authority neither; with
// one of ours what is read-only, and nothing else, within sizes and rates. One that may send sends.
func TestFrontDoor(t *testing.T) {
	explorer := stage.Address(t)
	n := start(t, testnet.Manifest{Validators: 1}, func(made *testnet.Net) {
		for key, value := range map[string]string{"explorer.enabled": "true", "explorer.laddr": "tcp://" + explorer,
			"api.rate": "500", "api.burst": "1000", "rpc.unsafe": "true"} {
			_, err := home.Set(made.Nodes[0].Home, key, value)
			require.NoError(t, err)
		}
	})
	n.reach(3)
	rpc := strings.TrimPrefix(n.Net.Nodes[0].RPC, "tcp://")
	readers, server, others := newAuthority(t, "readers"), newAuthority(t, "localhost"), newAuthority(t, "others")
	door := frontDoor(t, readers, server, explorer, rpc)
	ask := func(c *http.Client, method, path string, body io.Reader) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, door+path, body)
		require.NoError(t, err)
		req.Host = "localhost"
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		answer, err := c.Do(req)
		require.NoError(t, err, path)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	reader := readers.client(server.cert, "auditor")
	read := []string{"/", "/rounds", "/rounds?page=1", "/participants", "/participant/0", "/round/0/1", "/blocks",
		"/params", "/v1/status", "/v1/rounds/0/1", "/v1/openapi.json", "/rpc/status", "/rpc/health", "/rpc/block?height=2",
		"/rpc/validators", "/rpc/commit?height=2", `/rpc/abci_query?path="/status"`}
	n.eventually(func() bool {
		code, _ := ask(reader, "GET", "/v1/status", nil)
		return code == 200
	}, "the explorer is up")
	for _, path := range read {
		code, _ := ask(readers.client(server.cert, ""), "GET", path, nil)
		require.Equal(t, 400, code, "%s without a certificate", path)
		code, _ = ask(others.client(server.cert, "auditor"), "GET", path, nil)
		require.Equal(t, 400, code, "%s with another authority's", path)
		code, text := ask(reader, "GET", path, nil)
		require.Equal(t, 200, code, "%s: %s", path, text)
	}
	for _, method := range []string{"broadcast_tx_sync?tx=0x01", "broadcast_tx_async?tx=0x01",
		"broadcast_tx_commit?tx=0x01", "broadcast_evidence", "check_tx?tx=0x01", "dial_seeds", "dial_peers",
		"unsafe_flush_mempool",
		`tx_search?query="tx.height>0"`, "block_search", "genesis", "net_info", "consensus_state", "dump_consensus_state",
		"unconfirmed_txs", "num_unconfirmed_txs", "subscribe", "unsubscribe", "unsubscribe_all", "websocket", "metrics",
		"debug/pprof/"} {
		plain, err := http.Get("http://" + rpc + "/" + method) //nolint:noctx // a test's own node
		require.NoError(t, err)
		plain.Body.Close()
		code, _ := ask(reader, "GET", "/rpc/"+method, nil)
		require.Equal(t, 403, code, method)
		t.Logf("%-36s node %d, proxy %d", method, plain.StatusCode, code)
	}
	for path, want := range map[string]int{"/metrics": 403, "/debug/pprof/heap": 403, "/websocket": 403, "/rpc/": 404,
		"/rpc/anything": 404, "/status": 404, "/rpc/../status": 404, "/v1/anything": 404, "/rpc/status/": 404,
		`/rpc/abci_query?path="` + strings.Repeat("x", 1100) + `"`: 414,
		"/rounds/" + strings.Repeat("x", 5000):                     414} {
		code, _ := ask(reader, "GET", path, nil)
		require.Equal(t, want, code, "%.60s", path)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"broadcast_tx_sync","params":{"tx":"AQ=="}}`
	for path, want := range map[string]int{"/": 403, "/rpc/status": 403, "/v1/status": 403, "/send": 403, "/txs": 403,
		"/send/txs": 403} {
		code, _ := ask(reader, "POST", path, strings.NewReader(call))
		require.Equal(t, want, code, "POST %s", path)
	}
	code, _ := ask(reader, "POST", "/v1/status", strings.NewReader(strings.Repeat("x", 2000)))
	require.Contains(t, []int{403, 413}, code, "a body for what has none")
	sender := readers.client(server.cert, "worker-a")
	code, text := ask(sender, "POST", "/send", strings.NewReader(call))
	require.Equal(t, 200, code, text)
	require.Contains(t, text, `"code":`, "the node judges it")
	large := strings.Replace(call, "AQ==", strings.Repeat("A", 6<<20), 1)
	code, text = ask(sender, "POST", "/send", strings.NewReader(large))
	require.Equal(t, 200, code, text)
	code, _ = ask(sender, "POST", "/send", strings.NewReader(strings.Repeat("x", 10<<20)))
	require.Equal(t, 413, code)

	for path, want := range map[string]int{"/txs": 200, "/send/txs": 200, "/rpc/txs": 404, "/send/status": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, door+path, strings.NewReader("\n\x01x"))
		require.NoError(t, err)
		req.Host = "localhost"
		req.Header.Set("Content-Type", abci.TxsType)
		answer, err := sender.Do(req)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, want, answer.StatusCode, path)
		if want == 200 {
			var verdict abcitypes.Response
			require.NoError(t, abcitypes.ReadMessage(answer.Body, &verdict), path)
			require.Equal(t, abci.CodeMalformed, verdict.GetCheckTx().Code, path)
		}
	}

	limited := 0
	for range 60 { // a burst of 10, and 5 a second
		if code, _ := ask(reader, "GET", `/rpc/abci_query?path="/status"`, nil); code == 429 {
			limited++
		}
	}
	require.Positive(t, limited)
	t.Logf("%d of 60 queries in a row: 429", limited)
	n.events(door, reader)
}

// events reads events of the chain by way of a proxy, each as it happens.
func (n *net) events(door string, reader *http.Client) {
	n.Helper()
	req, err := http.NewRequestWithContext(n.Context(), http.MethodGet, door+"/v1/events", nil)
	require.NoError(n, err)
	req.Host = "localhost"
	answer, err := reader.Do(req)
	require.NoError(n, err)
	defer answer.Body.Close()
	require.Equal(n, 200, answer.StatusCode)
	require.Equal(n, "text/event-stream", answer.Header.Get("Content-Type"))
	lines, events := bufio.NewScanner(answer.Body), 0
	for events < 3 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			events++
		}
	}
	require.Equal(n, 3, events, "events come while the stream is open")
}
