//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	stdnet "net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// vault moves a node's validator key and state to a home of a signer, lets the node listen for it,
// and returns the signer's command line.
func vault(t *testing.T, node, home string) []string {
	t.Helper()
	require.NoError(t, os.CopyFS(filepath.Join(home, "config"), os.DirFS(filepath.Join(node, "config"))))
	require.NoError(t, os.Chmod(filepath.Join(home, "config", "priv_validator_key.json"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(home, "data"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(node, "data", "priv_validator_state.json"),
		filepath.Join(home, "data", "priv_validator_state.json")))
	require.NoError(t, os.Remove(filepath.Join(node, "config", "priv_validator_key.json")))
	l, err := stdnet.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	file := filepath.Join(node, "config", "config.toml")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	off := []byte(`priv_validator_laddr = ""`)
	require.True(t, bytes.Contains(data, off))
	require.NoError(t, os.WriteFile(file, bytes.Replace(data, off, fmt.Appendf(nil, "priv_validator_laddr = %q",
		"tcp://"+at), 1), 0o600))
	id, err := exec.Command(binary, "show-node-id", "--home", node).Output()
	require.NoError(t, err)
	return []string{"signer", "--home", home, "--never-signed", "--connect", at, "--node-id",
		strings.TrimSpace(string(id)), "--log-level", "error"}
}

// TestRemoteValidator trains with a validator whose key a signer in another process holds. The
// signer is killed with SIGKILL five or ten times, every fifth time with its node: the validator
// signs blocks again each time, the training goes on without it, no height has two of its
// signatures, and a second signer on the same key does not start.
func TestRemoteValidator(t *testing.T) {
	var line []string
	launch := func() *exec.Cmd {
		cmd := exec.Command(binary, line...)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return cmd
	}
	var signer *exec.Cmd
	home := ""
	n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
		home = made.Nodes[3].Home
		line = vault(t, made.Nodes[3].Home, t.TempDir())
		signer = launch()
	})
	t.Cleanup(func() { _ = signer.Process.Kill(); _ = signer.Wait() })
	ctx := context.Background()
	n.reach(1)
	status, err := n.clients[3].RPC().Status(ctx)
	require.NoError(t, err)
	validator := status.ValidatorInfo.Address
	// signed waits for a commit above a height that has the validator's signature.
	signed := func() {
		t.Helper()
		s, err := n.clients[0].RPC().Status(ctx)
		require.NoError(t, err)
		from := s.SyncInfo.LatestBlockHeight
		n.eventually(func() bool {
			c, err := n.clients[0].RPC().Commit(ctx, nil)
			if err != nil || c.Height <= from {
				return false
			}
			for _, s := range c.Commit.Signatures {
				if bytes.Equal(s.ValidatorAddress, validator) && len(s.Signature) > 0 {
					return true
				}
			}
			return false
		}, "no commit after height %d has the signature of validator 3", from)
	}
	signed()
	out, err := exec.Command(binary, "show-validator", "--home", home).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), base64.StdEncoding.EncodeToString(status.ValidatorInfo.PubKey.Bytes()))
	out, err = exec.Command(binary, line...).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "another process uses it")
	began := n.open(0)
	// declared waits until node 3 says whether its validator's signer is there.
	declared := func(is string) {
		t.Helper()
		n.eventually(func() bool {
			s, err := n.clients[3].Status(ctx)
			return err == nil && s.Home != nil && s.Home.ValidatorSigner == is
		}, "node 3 does not say that the signer %s", is)
	}
	declared(query.SignerAnswers)
	kills := stage.Pick(5, 5, 10)
	for kill := range kills {
		require.NoError(t, signer.Process.Kill())
		_ = signer.Wait() // killed
		if kill == 0 {
			declared(query.SignerAway)
		}
		if kill%5 == 4 {
			require.NoError(t, n.Kill(3))
		}
		before := n.open(0)
		n.eventually(func() bool { at, ok := n.round(0); return ok && at > before+1 }, "no round closes without the signer")
		signer = launch()
		if kill%5 == 4 {
			require.NoError(t, n.Start(3))
		}
		signed()
	}
	n.reach(n.open(0) + 3)
	for i := range 4 {
		offences, err := n.clients[i].Evidence(ctx)
		require.NoError(t, err)
		require.Empty(t, offences)
	}
	heights := n.sameHashes()
	t.Logf("%d kills of the signer and %d of its node, %d rounds, %d heights, all hashes equal, no offence",
		kills, kills/5, n.open(0)-began, heights)
}

// TestRemoteValidatorIsOfOneNode: a signer signs for the node of its --node-id alone, and a node
// without its signer says where it waits.
func TestRemoteValidatorIsOfOneNode(t *testing.T) {
	made, err := testnet.Init(testnet.Manifest{Validators: 4, Home: t.TempDir()})
	require.NoError(t, err)
	line := vault(t, made.Nodes[0].Home, t.TempDir())
	line[len(line)-3] = strings.Repeat("ab", 20)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	signer := exec.CommandContext(ctx, binary, line...)
	require.NoError(t, signer.Start())
	begun := time.Now()
	out, err := exec.CommandContext(ctx, binary, "start", "--home", made.Nodes[0].Home).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no signer of the validator's key is connected to tcp://127.0.0.1:")
	t.Logf("the node gave up after %v", time.Since(begun).Round(time.Second))
	require.NoError(t, signer.Process.Kill())
	_ = signer.Wait() // killed
}
