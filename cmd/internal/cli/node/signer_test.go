package node

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// TestAnotherNodeIsNamed: a signer whose --node-id is another node's says once that it signs nothing, with both ids,
// and says that it signs when it has connected.
func TestAnotherNodeIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	key := ed25519.GenPrivKey()
	id := string(p2p.PubKeyToID(key.PubKey()))
	node := privval.NewTCPListener(l, key)
	go func() {
		for {
			if _, err := node.Accept(); errors.Is(err, net.ErrClosed) {
				return
			}
		}
	}()
	var out bytes.Buffer
	wrong := strings.Repeat("0", len(id))
	o := &signerOptions{connect: "tcp://" + l.Addr().String(), nodeID: wrong}
	connect, err := o.dialer()
	require.NoError(t, err)
	dial := announced(connect, log.NewTMLogger(log.NewSyncWriter(&out)))
	for range 2 {
		_, err = dial()
		require.ErrorIs(t, err, errNodeID)
	}
	require.Equal(t, 1, strings.Count(out.String(), "nothing is signed"))
	require.Contains(t, out.String(), "proves the id "+id+", --node-id is "+wrong)
	require.NotContains(t, out.String(), "signing blocks")
	o.nodeID = id
	_, err = dial()
	require.NoError(t, err)
	require.Contains(t, out.String(), "signing blocks")
}

// TestStateWithoutSignature: a signer of blocks rejects the state that spdl init makes, and names the file and the
// flag; the flag, or a state with a signature, lets it start.
func TestStateWithoutSignature(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	h, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	state := h.Config.PrivValidatorStateFile()
	sign := func(never bool) error {
		o := &signerOptions{connect: "unix://" + filepath.Join(dir, "s"), neverSigned: never}
		stop, err := o.signBlocks(&command.Run{Context: t.Context(), Home: dir}, h.Config, "chain", log.NewNopLogger())
		if err == nil {
			stop()
		}
		return err
	}
	err = sign(false)
	require.ErrorContains(t, err, state+" has height 0")
	require.ErrorContains(t, err, "--never-signed")
	require.NoError(t, sign(true))
	require.NoError(t, os.WriteFile(state, []byte(`{"height":"7","round":0,"step":3}`), 0o600))
	require.NoError(t, sign(false))
}

// TestReconnects: a signer of blocks connects again after the node has ended the connection, as a
// killed node does, and does not read the old one without end.
func TestReconnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	endpoint := privval.NewSignerDialerEndpoint(log.NewNopLogger(), func() (net.Conn, error) {
		c, err := net.Dial("tcp", l.Addr().String())
		return reconnecting{c}, err
	}, privval.SignerDialerEndpointConnRetries(dialTries), privval.SignerDialerEndpointRetryWaitInterval(dialPause))
	key := privval.NewFilePV(ed25519.GenPrivKey(), "", filepath.Join(t.TempDir(), "state"))
	server := privval.NewSignerServer(endpoint, "chain", key)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Stop() })
	for range 3 {
		require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}
