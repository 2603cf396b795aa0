package explorer

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// TestBeside: a node serves the pages where app.toml says so, and stops them with
// itself; a model that it serves as a file carries its proof; a taken address is an
// error of the start.
func TestBeside(t *testing.T) {
	stage.NotShort(t, "runs a node")
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 1, Rounds: 5, Seed: 1})
	require.NoError(t, err)
	c, a, err := home.Load(n.Nodes[0].Home)
	require.NoError(t, err)
	// The port of a net that does not run: an outgoing connection could take one of the system's
	// choice before the explorer does.
	spare, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 1})
	require.NoError(t, err)
	a.Explorer = home.ExplorerConfig{Enabled: true, Laddr: spare.Nodes[0].RPC, Eval: true}
	hooks := node.Hooks{StartServices: Beside}
	r, err := node.Start(c, a, log.NewNopLogger(), hooks)
	require.NoError(t, err)
	url := "http" + strings.TrimPrefix(a.Explorer.Laddr, "tcp")
	require.Eventually(t, func() bool {
		answer, err := http.Get(url + "/v1/rounds")
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(body), `"round":4`) && strings.Contains(string(body), `"accuracy":0.`)
	}, 2*time.Minute, 50*time.Millisecond)
	answer, err := http.Get(url + "/v1/models/3?format=safetensors")
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, errors.Join(err, answer.Body.Close()))
	f, format, err := modelfile.Decode(body)
	require.NoError(t, err, "what one downloads is what `model eval` and `verify model` read")
	require.Equal(t, modelfile.Safetensors, format)
	require.NoError(t, f.Check())
	require.EqualValues(t, 3, f.Card.Round)
	require.NoError(t, r.Stop())
	_, err = http.Get(url)
	require.Error(t, err)

	l, err := net.Listen("tcp", strings.TrimPrefix(a.Explorer.Laddr, "tcp://"))
	require.NoError(t, err)
	defer l.Close()
	_, err = node.Start(c, a, log.NewNopLogger(), hooks)
	require.ErrorContains(t, err, "explorer address")
}

// TestReachable: the explorer asks what its own node listens on.
func TestReachable(t *testing.T) {
	for laddr, at := range map[string]string{
		"tcp://:26657": "tcp://127.0.0.1:26657", "tcp://0.0.0.0:26657": "tcp://127.0.0.1:26657",
		"tcp://127.0.0.1:26657": "tcp://127.0.0.1:26657",
		"unix:///run/rpc.sock":  "unix:///run/rpc.sock",
	} {
		require.Equal(t, at, home.Reachable(laddr))
		_, err := Open(home.Reachable(laddr), Options{})
		require.NoError(t, err)
	}
}

// TestListenNear: a port in use is no failure, for the next one is taken.
func TestListenNear(t *testing.T) {
	first, err := Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	defer first.Close()
	second, err := ListenNear("tcp://" + first.Addr().String())
	require.NoError(t, err)
	defer second.Close()
	from, to := first.Addr().(*net.TCPAddr).Port, second.Addr().(*net.TCPAddr).Port
	require.Greater(t, to, from)
	require.LessOrEqual(t, to, from+nextPorts)
	_, err = ListenNear("tcp://127.0.0.1:x")
	require.Error(t, err)
}
