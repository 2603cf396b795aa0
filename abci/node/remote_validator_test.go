package node

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

// TestWaitForSignerIsLogged: at the default log level a node says that it waits for its signer, where, and
// which command starts it.
func TestWaitForSignerIsLogged(t *testing.T) {
	key := &p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
	out, err := os.Create(filepath.Join(t.TempDir(), "log")) // CometBFT's endpoint also writes, at any time
	require.NoError(t, err)
	defer out.Close()
	logger, err := cmtflags.ParseLogLevel(home.DefaultConfig().LogLevel, log.NewTMLogger(out), "error")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = awaitSigner(ctx, "tcp://127.0.0.1:0", nil, "chain", key, logger)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	data, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	text := string(data)
	require.Contains(t, text, "waiting for the signer of the validator's key")
	require.Contains(t, text, "priv_validator_laddr=tcp://127.0.0.1:0")
	for at, want := range map[string]string{
		"tcp://127.0.0.1:0": "spdl signer --home SIGNER --connect 127.0.0.1:0 --node-id " + string(key.ID()),
		"tcp://0.0.0.0:9":   "spdl signer --home SIGNER --connect HOST:9 --node-id " + string(key.ID()),
		":9":                "spdl signer --home SIGNER --connect HOST:9 --node-id " + string(key.ID()),
		"unix:///run/s":     "spdl signer --home SIGNER --connect unix:///run/s",
	} {
		require.Equal(t, want, signerCommand(at, key.ID()))
	}
	require.Contains(t, text, signerCommand("tcp://127.0.0.1:0", key.ID()))
}

// TestSocketsOfKilledNode: a node takes the place of the sockets that a killed one has left behind, and of no
// other's.
func TestSocketsOfKilledNode(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	at := filepath.Join(dir, "s")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	require.NoError(t, err)
	key := &p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
	_, err = listenForSigner("unix://"+at, nil, key, log.NewNopLogger())
	require.ErrorContains(t, err, "another process listens there")
	killed.SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())
	endpoint, err := listenForSigner("unix://"+at, nil, key, log.NewNopLogger())
	require.NoError(t, err)
	require.NoError(t, endpoint.Start())
	defer func() { _ = endpoint.Stop() }()
	info, err := os.Stat(at)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	c, err := net.Dial("unix", at)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, endpoint.WaitForConnection(time.Minute))
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err = listenForSigner("unix://"+at, nil, key, log.NewNopLogger())
	require.ErrorContains(t, err, "other users could replace the socket")
}
