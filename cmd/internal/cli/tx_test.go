package cli

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
)

// nowhere is a node that does not answer.
const nowhere = "tcp://127.0.0.1:1"

// TestJoinWithoutANode: a dry run on a named chain asks nobody, and what it
// prints is a join that the chain's rules on form and proofs accept.
func TestJoinWithoutANode(t *testing.T) {
	home := initHome(t, "joiner")
	args := []string{"tx", "join", "--home", home, "--chain-id", "theirs", "--node", nowhere, "--dry-run"}
	stdout, stderr, code := spdl(t, args...)
	require.Zero(t, code, stderr)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(stdout))
	require.NoError(t, err)
	x, err := tx.Decode(raw)
	require.NoError(t, err)
	j, ok := x.Body.(*tx.Join)
	require.True(t, ok)
	require.NoError(t, x.Verify("theirs", j.PubKey))
	_, err = leader.Verify(j.VrfKey, leader.PossessionInput("theirs", j.PubKey), j.VrfProof)
	require.NoError(t, err)
	require.Equal(t, "joiner", j.Moniker)
	require.Len(t, j.ConsensusKey, 32)
	require.Empty(t, j.Address, "nobody reaches 0.0.0.0")
	require.Contains(t, stderr, "warning: no address is registered: the home's, 127.0.0.1:26656, is a loopback address")
	requireNoSecret(t, home, stdout)
	_, stderr, code = spdl(t, "config", "set", "p2p.laddr", "tcp://0.0.0.0:26656", "--home", home)
	require.Zero(t, code, stderr)
	_, stderr, code = spdl(t, args...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "the home's, 0.0.0.0:26656, is an unspecified address, which other nodes cannot reach")

	stdout, stderr, code = spdl(t, append(args, "--worker-only", "--moniker", "m", "--address", "x@y:1", "-o", "json")...)
	require.Zero(t, code, stderr)
	var r consortium.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	x, err = tx.Decode(r.Tx)
	require.NoError(t, err)
	j = x.Body.(*tx.Join)
	require.NotContains(t, stderr, "no address is registered")
	require.Empty(t, j.ConsensusKey)
	require.Equal(t, "m", j.Moniker)
	require.Equal(t, "x@y:1", j.Address)

	_, stderr, code = spdl(t, "tx", "join", "--home", home, "--node", nowhere)
	require.Equal(t, command.WrongUse, code, "before a node is asked")
	require.Contains(t, stderr, "give --address HOST:PORT, or --yes if the node dials alone")
	_, _, code = spdl(t, "tx", "join", "--home", home, "--node", nowhere, "--yes")
	require.Equal(t, command.Unreachable, code)
	_, stderr, code = spdl(t, "tx", "rotate", "--home", home, "--node", nowhere, "--consensus")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "both or none")
	_, _, code = spdl(t, "tx", "rotate", "--home", home, "--node", nowhere)
	require.Equal(t, command.Unreachable, code)
	require.NoFileExists(t, filepath.Join(home, "config/participant_key.json.next"), "no keys for who may be nobody")
}

// TestEvidenceFiles: the two transactions are read in each of their forms, and
// make the same evidence.
func TestEvidenceFiles(t *testing.T) {
	keys := home.GenerateKeys()
	dir := t.TempDir()
	gradient := func(name string, round uint64, payload byte) *tx.Tx {
		x, err := tx.Sign("c", &tx.Gradient{Round: round, Participant: 2, Payload: []byte{payload}}, keys.Signing)
		require.NoError(t, err)
		write := func(form string, data []byte) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+form), data, 0o600))
		}
		of64 := base64.StdEncoding.EncodeToString(x.Raw)
		write(".raw", x.Raw)
		write(".b64", []byte(of64+"\n"))
		write(".json", []byte(`{"tx":"`+of64+`"}`))
		write(".rpc", []byte(`{"jsonrpc":"2.0","id":-1,"result":{"tx":"`+of64+`"}}`))
		return x
	}
	want, err := tx.NewEvidence(gradient("a", 3, 1), gradient("b", 3, 2))
	require.NoError(t, err)
	gradient("later", 4, 2)
	run := func(a, b string, more ...string) (string, string, int) {
		return spdl(t, append([]string{"tx", "evidence", filepath.Join(dir, a), filepath.Join(dir, b), "--node", nowhere,
			"--dry-run"}, more...)...)
	}
	for _, c := range [][]string{{"a.raw", "b.raw"}, {"b.raw", "a.b64"}, {"a.json", "b.rpc", "--from-json"}} {
		stdout, stderr, code := run(c[0], c[1], c[2:]...)
		require.Zero(t, code, stderr)
		require.Equal(t, base64.StdEncoding.EncodeToString(want.Raw), strings.TrimSpace(stdout), c)
	}
	for _, c := range []struct{ a, b, says string }{
		{"a.raw", "a.b64", "do not contradict"},
		{"a.raw", "later.raw", "round 3"},
		{"a.raw", "b.json", "b.json"},
	} {
		_, stderr, code := run(c.a, c.b)
		require.Equal(t, command.Failure, code)
		require.Contains(t, stderr, c.says)
	}
}
