package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// alone makes the home of a chain with a single node.
func alone(t *testing.T, rounds uint64) (*config.Config, home.AppConfig) {
	t.Helper()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	home.UseLoopback(c)
	c.RPC.ListenAddress, c.P2P.ListenAddress = "tcp://"+stage.Address(t), "tcp://127.0.0.1:0"
	made, err := home.Init(filepath.Join(t.TempDir(), "home"), c, a)
	require.NoError(t, err)
	p, err := preset.New("pixels", 1)
	require.NoError(t, err)
	p.Training.Rounds = rounds
	doc, err := home.NewGenesis("alone", time.Now(), app.Genesis{Params: p, Seed: make([]byte, 32),
		Participants: []app.Participant{
			made.Participant(0, "alone", make([]byte, 32), p.Reputation),
		}})
	require.NoError(t, err)
	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	return c, a
}

// TestCheckTxKeepsNothing: CometBFT's /check_tx returns the node's verdict on a transaction, and no
// block carries that transaction.
func TestCheckTxKeepsNothing(t *testing.T) {
	t.Parallel()
	c, a := alone(t, 1000)
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(c.RootDir, "config", "participant_key.json"))
	require.NoError(t, err)
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Stop()) }()
	rpc := rpclocal.New(r.Node)
	rotate := func(nonce uint64) []byte {
		id := strings.Repeat(fmt.Sprint(nonce), 40)
		x, err := tx.Sign("alone", &tx.Rotate{Participant: 0, Nonce: nonce, NodeIds: []string{id}}, keys.Signing)
		require.NoError(t, err)
		return x.Raw
	}
	nonce := func() uint64 { return r.Application.State().Participants[0].Nonce }
	require.Eventually(t, func() bool { return r.Application.State() != nil }, 10*time.Second, time.Millisecond)
	for _, c := range []struct {
		raw  []byte
		code uint32
	}{{rotate(2), abci.CodeOK}, {rotate(0), abci.CodeProposal}, {[]byte("x"), abci.CodeMalformed}} {
		answer, err := rpc.CheckTx(t.Context(), c.raw)
		require.NoError(t, err)
		require.Equal(t, c.code, answer.Code, answer.Log)
	}
	at := r.Application.State().Height
	require.Eventually(t, func() bool { return r.Application.State().Height > at+10 }, 20*time.Second, time.Millisecond)
	require.Zero(t, nonce(), "nothing was sent")
	_, err = rpc.BroadcastTxSync(t.Context(), rotate(1))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return nonce() == 1 }, 10*time.Second, time.Millisecond)
}

// TestRPC: the port of rpc.laddr serves CometBFT's RPC, its websocket and abci.TxsPath, until the node
// stops. The node tells its address.
func TestRPC(t *testing.T) {
	t.Parallel()
	c, a := alone(t, 100_000)
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(c.RootDir, "config", "participant_key.json"))
	require.NoError(t, err)
	at := c.RPC.ListenAddress
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	stop := sync.OnceValue(r.Stop)
	defer func() { require.NoError(t, stop()) }()
	require.Equal(t, at, c.RPC.ListenAddress)
	rpc, err := client.New(at)
	require.NoError(t, err)
	status, err := rpc.RPC().Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, at, status.NodeInfo.Other.RPCAddress)
	blocks := rpc.Subscribe(t.Context()).Blocks
	select {
	case <-blocks:
	case <-time.After(30 * time.Second):
		t.Fatal("the websocket announces no block")
	}
	rotate := func(nonce uint64) *tx.Tx {
		x, err := tx.Sign("alone", &tx.Rotate{Participant: 0, Nonce: nonce, NodeIds: []string{strings.Repeat("ab", 20)}},
			keys.Signing)
		require.NoError(t, err)
		return x
	}
	body, err := (&protomem.Txs{Txs: [][]byte{rotate(1).Raw, []byte("x"), rotate(1).Raw}}).Marshal()
	require.NoError(t, err)
	answer, err := http.Post("http"+strings.TrimPrefix(at, "tcp")+abci.TxsPath, abci.TxsType, bytes.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	verdicts := make([]abcitypes.Response, 3)
	for i := range verdicts {
		require.NoError(t, abcitypes.ReadMessage(answer.Body, &verdicts[i]))
	}
	require.Equal(t, abci.CodeOK, verdicts[0].GetCheckTx().Code)
	require.Equal(t, abci.CodeMalformed, verdicts[1].GetCheckTx().Code)
	require.Equal(t, "tx already exists in cache", verdicts[2].GetException().Error)
	require.NoError(t, rpc.BroadcastAll(t.Context(), []*tx.Tx{rotate(1)})[0], "the node has it")
	require.Eventually(t, func() bool { return r.Application.State().Participants[0].Nonce == 1 }, 10*time.Second,
		time.Millisecond)
	require.NoError(t, stop())
	_, err = net.Dial("tcp", strings.TrimPrefix(at, "tcp://"))
	require.Error(t, err)
}

// TestStart: a node with its worker trains, stops, and continues in the same process from its
// databases.
func TestStart(t *testing.T) {
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	var reached uint64
	for range 2 {
		r, err := Start(c, a, log.NewNopLogger(), Hooks{})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			_, round := r.Application.Pending()
			if round < reached+5 {
				return false
			}
			reached = round
			return true
		}, 2*time.Minute, time.Millisecond)
		require.Empty(t, r.Failed())
		require.NoError(t, r.Stop())
		require.Empty(t, r.Failed(), "its consensus has ended because it should")
	}
	require.GreaterOrEqual(t, reached, uint64(10))
}

// TestStartRestored: a home with its keys and without a data folder is a restored one, and starts.
// A data folder without the validator's last signature is rejected.
func TestStartRestored(t *testing.T) {
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 1)
	require.NoError(t, os.RemoveAll(c.DBDir()))
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.NoError(t, r.Stop())
	require.FileExists(t, c.PrivValidatorStateFile())
	require.NoError(t, os.Remove(c.PrivValidatorStateFile()))
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "validator state")
	require.NoFileExists(t, c.PrivValidatorStateFile())
}

// TestABusyPortIsAnErrorThatNamesItsKey: this includes the Prometheus port, because CometBFT would
// run without metrics.
func TestABusyPortIsAnErrorThatNamesItsKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, a := alone(t, 5)
	c.Instrumentation.Prometheus = true
	for key, address := range map[string]*string{
		"p2p.laddr": &c.P2P.ListenAddress, "rpc.laddr": &c.RPC.ListenAddress,
		"instrumentation.prometheus_listen_addr": &c.Instrumentation.PrometheusListenAddr,
	} {
		free := *address
		*address = l.Addr().String()
		if key != "instrumentation.prometheus_listen_addr" {
			*address, c.Instrumentation.PrometheusListenAddr = "tcp://"+*address, "127.0.0.1:0"
		}
		_, err = Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, key)
		require.ErrorContains(t, err, l.Addr().String())
		*address = free
	}
}

// TestStartRefuses: the error names the fault of a home, and the failed start leaves nothing open.
func TestStartRefuses(t *testing.T) {
	c, a := alone(t, 5)
	missing := a
	missing.Worker.KeyFile = "config/none.json"
	_, err := Start(c, missing, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "none.json")
	wrong := a
	wrong.Worker.Parts = 0
	_, err = Start(c, wrong, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "app.toml")
	for range 2 { // a second start shows that the first one closed the databases
		lost := *c
		lost.PrivValidatorKey = "config/none.json"
		_, err = Start(&lost, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, "validator key")
		lost = *c
		lost.Genesis = "config/none.json"
		_, err = Start(&lost, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, "none.json")
		require.ErrorContains(t, err, "spdl consortium start makes one")
	}
}

// TestKeyFilesRefused: the error about a damaged or unreadable key file names the file. CometBFT
// would end this process, or panic.
func TestKeyFilesRefused(t *testing.T) {
	c, a := alone(t, 5)
	short := `{"priv_key":{"type":"tendermint/PrivKeyEd25519","value":"AAAA"}}`
	for _, x := range []struct{ path, content, says string }{
		{c.NodeKeyFile(), "{", "unexpected end"},
		{c.NodeKeyFile(), "{}", "want ed25519"},
		{c.NodeKeyFile(), short, "3 bytes"},
		{c.PrivValidatorKeyFile(), "{", "unexpected end"},
		{c.PrivValidatorKeyFile(), "{}", "want ed25519"},
		{c.PrivValidatorKeyFile(), short, "3 bytes"},
		{c.PrivValidatorStateFile(), "{", "unexpected end"},
	} {
		good, err := os.ReadFile(x.path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(x.path, []byte(x.content), 0o600))
		_, err = Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, x.path)
		require.ErrorContains(t, err, x.says, x.path)
		require.NoError(t, os.WriteFile(x.path, good, 0o600))
	}
	for _, path := range []string{c.NodeKeyFile(), c.PrivValidatorKeyFile(), c.PrivValidatorStateFile()} {
		require.NoError(t, os.Rename(path, path+".good"))
		_, err := Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, path)
		require.NoError(t, os.Mkdir(path, 0o700)) // even root cannot read it
		_, err = Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, path)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Rename(path+".good", path))
	}

	require.NoError(t, os.WriteFile(c.PrivValidatorKeyFile(), []byte("{"), 0o600))
	require.ErrorContains(t, home.Reset(c, a), c.PrivValidatorKeyFile())
	require.FileExists(t, c.PrivValidatorStateFile(), "nothing is touched")
}

// TestReadableKeys: a key file that other users can read is named at the start, at the log level
// that init writes, and the node starts.
func TestReadableKeys(t *testing.T) {
	c, a := alone(t, 5)
	c.Genesis = "config/none.json" // makes the start end here
	start := func() string {
		var out bytes.Buffer
		logger, err := cmtflags.ParseLogLevel(c.LogLevel, log.NewTMLogger(&out), "error")
		require.NoError(t, err)
		_, err = Start(c, a, logger, Hooks{})
		require.ErrorContains(t, err, "none.json")
		return out.String()
	}
	require.NotContains(t, start(), "open to others", "as init makes them")
	files := []string{home.InHome(c, a.Worker.KeyFile), c.PrivValidatorKeyFile(), c.NodeKeyFile()}
	for i, mode := range []os.FileMode{0o644, 0o640, 0o602} {
		require.NoError(t, os.Chmod(files[i], mode))
	}
	said := start()
	for i, mode := range []string{"0644", "0640", "0602"} {
		require.Regexp(t, "open to others.*file="+files[i]+" mode="+mode, said)
	}
	require.Equal(t, 3, strings.Count(said, "open to others"))
}

// failing is an application that cannot execute a decided block.
type failing struct{ abcitypes.BaseApplication }

func (failing) FinalizeBlock(context.Context, *abcitypes.RequestFinalizeBlock) (*abcitypes.ResponseFinalizeBlock,
	error) {
	return nil, errors.New("cannot")
}

// newNode builds the node of a home with an application.
func newNode(c *config.Config, application abcitypes.Application) (*cmtnode.Node, error) {
	keys := new(home.Keystore)
	validator, err := keys.LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	if err != nil {
		return nil, err
	}
	return Build(c, application, validator, log.NewNopLogger(), keys, new(databases.Set))
}

func TestHaltIsNoticed(t *testing.T) {
	c, _ := alone(t, 5)
	n, err := newNode(c, failing{})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	consensus, err := consensusOf(n)
	require.NoError(t, err)
	r := &Running{failures: make(chan error, 1)}
	go r.watch(context.Background(), consensus)
	select {
	case err := <-r.Failed():
		require.ErrorIs(t, err, errHalted)
	case <-time.After(2 * time.Minute):
		t.Fatal("consensus goes on")
	}
	require.True(t, n.IsRunning(), "CometBFT itself does not care")
	_ = n.Stop()
}
