package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
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
	requireNoSecret(t, home, stdout)

	stdout, stderr, code = spdl(t, append(args, "--worker-only", "--moniker", "m", "--address", "x@y:1", "-o", "json")...)
	require.Zero(t, code, stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	x, err = tx.Decode(r.Tx)
	require.NoError(t, err)
	j = x.Body.(*tx.Join)
	require.Empty(t, j.ConsensusKey)
	require.Equal(t, "m", j.Moniker)
	require.Equal(t, "x@y:1", j.Address)

	_, _, code = spdl(t, "tx", "join", "--home", home, "--node", nowhere)
	require.Equal(t, exitUnreachable, code)
	_, stderr, code = spdl(t, "tx", "rotate", "--home", home, "--node", nowhere, "--consensus")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "both or none")
	_, _, code = spdl(t, "tx", "rotate", "--home", home, "--node", nowhere)
	require.Equal(t, exitUnreachable, code)
	require.NoFileExists(t, filepath.Join(home, "config/participant_key.json.next"), "no keys for who may be nobody")
}

// TestEvidenceFiles: the two transactions are read in each of their forms, and
// make the same evidence.
func TestEvidenceFiles(t *testing.T) {
	keys := node.GenerateKeys()
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
		return spdl(t, append([]string{"tx", "evidence", filepath.Join(dir, a), filepath.Join(dir, b), "--node", nowhere, "--dry-run"}, more...)...)
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
		require.Equal(t, exitFailure, code)
		require.Contains(t, stderr, c.says)
	}
}

func TestUnique(t *testing.T) {
	ids := []string{"aaaaaaaa11", "aaaaaaaa22", "bbbbbbbb33"}
	i, err := unique("proposal", "BBBBBBBB", ids)
	require.NoError(t, err)
	require.Equal(t, 2, i)
	_, err = unique("proposal", "aaaaaaaa", ids)
	require.ErrorContains(t, err, `"aaaaaaaa11" and "aaaaaaaa22"`)
	_, err = unique("proposal", "cccccccc", ids)
	require.ErrorContains(t, err, "no proposal of 3")
	for _, bad := range []string{"", "aaaaaaa", "aaaaaaag", strings.Repeat("a", 65)} {
		var usage usageError
		require.True(t, errors.As(checkPrefix("proposal", bad), &usage), bad)
	}
}

// TestAwaits: approvals count of those who are active.
func TestAwaits(t *testing.T) {
	m := abci.Membership{Threshold: 3, Members: []abci.Member{{Index: 0, Active: true}, {Index: 1}, {Index: 2, Active: true}}}
	p := abci.Proposal{ID: "ab", Kind: "remove", Approvals: []uint32{0, 1}}
	require.Equal(t, "needs 2 more approvals of active participants, has 1 of 3: spdl tx approve ab", awaits(m, p))
	p.Accepted = true
	require.Contains(t, awaits(m, p), "next round boundary")
	p.Kind = tx.KindStartEpoch.String()
	require.Contains(t, awaits(m, p), "when training is finished")
}

func TestHolder(t *testing.T) {
	a, b, c := node.GenerateKeys(), node.GenerateKeys(), node.GenerateKeys()
	all := []app.Participant{
		{Index: 0, PubKey: a.Public()},
		{Index: 1, PubKey: b.Public(), FormerKeys: [][]byte{c.Public()}, Active: true},
	}
	p, err := holder(all, "file", b)
	require.NoError(t, err)
	require.Equal(t, uint32(1), p.Index)
	for says, keys := range map[string]worker.Keys{"has left": a, "former key of participant 1": c, "tx join": node.GenerateKeys()} {
		_, err = holder(all, "file", keys)
		require.ErrorIs(t, err, worker.ErrNotParticipant)
		require.ErrorContains(t, err, says)
	}
}

func TestAddress(t *testing.T) {
	home := initHome(t, "reached")
	id, _, _ := spdl(t, "show-node-id", "--home", home)
	id = strings.TrimSpace(id)
	for _, at := range []struct{ listen, external, want string }{
		{"tcp://0.0.0.0:26656", "", ""},
		{"tcp://127.0.0.1:26656", "", ""},
		{"tcp://[::]:26656", "", ""},
		{"tcp://:26656", "", ""},
		{"tcp://10.0.0.7:26656", "", id + "@10.0.0.7:26656"},
		{"tcp://0.0.0.0:26656", "node.example:443", id + "@node.example:443"},
		{"tcp://0.0.0.0:26656", "tcp://node.example:443", id + "@node.example:443"},
	} {
		c := config.DefaultConfig().SetRoot(home)
		c.P2P.ListenAddress, c.P2P.ExternalAddress = at.listen, at.external
		got, err := address(c)
		require.NoError(t, err)
		require.Equal(t, at.want, got, at.listen)
	}
}

func TestReadParams(t *testing.T) {
	want, err := preset.New("paper", 4)
	require.NoError(t, err)
	data, err := json.Marshal(want)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	got, err := readParams(file)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, os.WriteFile(file, bytes.Replace(data, []byte(`"rounds"`), []byte(`"rownds"`), 1), 0o600))
	_, err = readParams(file)
	require.ErrorContains(t, err, "rownds")
	require.NoError(t, os.WriteFile(file, append(data, '{'), 0o600))
	_, err = readParams(file)
	require.ErrorContains(t, err, "more than one")
	require.ErrorAs(t, err, &usageError{})
	_, err = readParams(file + "x")
	require.ErrorAs(t, err, &usageError{})
}

func TestPlain(t *testing.T) {
	require.Equal(t, "ünder \ufffd[2J\ufffd\nx", plain("ünder \x1b[2J\u200b\nx"))
	require.Equal(t, "\ufffd", plain("\xff"))
}
