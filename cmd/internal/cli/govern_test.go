package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/internal/stage"
)

// soloChain is a chain of one node that runs, and the homes beside it.
type soloChain struct {
	*testing.T
	rpc   string
	home0 string
}

// run starts spdl and ends it with the test.
func (c soloChain) run(args ...string) {
	c.Helper()
	cmd := process(c.T, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(c, cmd.Start())
	c.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if c.Failed() {
			lines := strings.Split(log.String(), "\n")
			c.Log(strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

// ask runs a command against the node and wants an exit code; JSON goes into
// the answer, unless that is nil.
func (c soloChain) ask(want int, answer any, args ...string) (stderr string) {
	c.Helper()
	stdout, stderr, code := spdl(c.T, append(args, "--node", c.rpc, "-o", "json")...)
	require.Equal(c, want, code, "%v: %s", args, stderr)
	if answer != nil {
		require.NoError(c, json.Unmarshal([]byte(stdout), answer), "%v: %s", args, stdout)
	}
	return stderr
}

func (c soloChain) eventually(what string, holds func() bool) {
	c.Helper()
	require.Eventually(c, holds, 2*time.Minute, 50*time.Millisecond, what)
}

// newConsortium starts a chain of one participant whose training goes on and
// on.
func newConsortium(t *testing.T) soloChain {
	t.Helper()
	home := filepath.Join(t.TempDir(), "net")
	stdout, stderr, code := spdl(t, "testnet", "init", "--preset", "pixels", "--validators", "1", "--rounds", "1000000",
		"--home", home, "-o", "json")
	require.Zero(t, code, stderr)
	var nodes []struct{ Home, RPC string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &nodes))
	c := soloChain{t, nodes[0].RPC, nodes[0].Home}
	c.run("start", "--home", c.home0)
	c.eventually("a round is closed", func() bool {
		_, _, code := spdl(t, "query", "round", "--node", c.rpc)
		return code == 0
	})
	return c
}

// TestGovern: a chain's whole life from the command line. A worker joins,
// equivocates, is restored and leaves; keys are rotated under a running worker;
// an epoch follows another.
func TestGovern(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c := newConsortium(t)
	modelReports(t, c)
	var r consortium.Report

	// A key that no participant has, and a node that a stranger asks.
	second := initHome(t, "second")
	stderr := c.ask(1, nil, "tx", "leave", "--home", second)
	require.Contains(t, stderr, "spdl tx join asks for membership")

	// Rotation, cut off after the transaction was sent.
	file := filepath.Join(c.home0, "config/participant_key.json")
	old, err := new(home.Keystore).LoadKeys(file)
	require.NoError(t, err)
	c.ask(0, &r, "tx", "rotate", "--home", c.home0, "--wait=false")
	require.FileExists(t, file+".next")
	require.Zero(t, r.Height)
	stderr = c.ask(1, nil, "tx", "rotate", "--home", c.home0, "--vrf")
	require.Contains(t, stderr, "changes signing true, vrf true")
	c.ask(0, &r, "tx", "rotate", "--home", c.home0)
	require.NoFileExists(t, file+".next")
	kept, err := new(home.Keystore).LoadKeys(fmt.Sprintf("%s.%x.old", file, []byte(old.Public()[:4])))
	require.NoError(t, err)
	require.Equal(t, old, kept)
	next, err := new(home.Keystore).LoadKeys(file)
	require.NoError(t, err)
	require.NotEqual(t, old.Signing, next.Signing)
	require.NotEqual(t, old.VRF, next.VRF)
	var ps []app.Participant
	c.ask(0, &ps, "query", "participants")
	require.Equal(t, []byte(next.Public()), ps[0].PubKey)
	shown := map[string]any{}
	text, _, _ := spdl(t, "keys", "show", "--home", c.home0, "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.Equal(t, hex.EncodeToString(ps[0].Id), shown["participant_id"], "a rotated key has the id of the first")
	require.Equal(t, true, shown["registered"])
	stderr = c.ask(1, nil, "tx", "leave", "--home", c.home0, "--key",
		file+fmt.Sprintf(".%x.old", []byte(old.Public()[:4])))
	require.Contains(t, stderr, "former key of participant 0")
	var s query.Status
	c.ask(0, &s, "query", "status")
	at := s.Round
	c.eventually("the worker goes on with its new keys", func() bool {
		c.ask(0, &s, "query", "status")
		return s.Round > at+2
	})

	// A worker joins.
	genesis, err := os.ReadFile(filepath.Join(c.home0, "config", "genesis.json"))
	require.NoError(t, err)
	own := filepath.Join(second, "config", "genesis.json")
	stderr = c.ask(1, nil, "tx", "join", "--home", second, "--worker-only")
	require.Contains(t, stderr, "the home's genesis is of", "a node must not choose what chain is signed for")
	require.NoError(t, os.WriteFile(own, genesis, 0o600))
	t.Setenv("SPDL_WORKER_DATA", home.EmbeddedData)
	c.run("worker", "--home", second, "--node", c.rpc, "--follow")
	c.ask(0, &r, "tx", "join", "--home", second, "--worker-only", "--moniker", `the "second"`)
	require.Contains(t, r.Next, "needs 1 more approval of active participants, has 0 of 1: spdl tx approve "+r.Proposal)
	require.Positive(t, r.Height)
	join, id := r.Proposal, r.Participant
	var m query.Membership
	c.ask(0, &m, "query", "membership")
	require.Len(t, m.Proposals, 1)
	stdout, _, _ := spdl(t, "query", "membership", "--node", c.rpc)
	require.Contains(t, stdout, join)
	stderr = c.ask(1, nil, "tx", "approve", "00000000", "--home", c.home0)
	require.Contains(t, stderr, "none of 1 proposals begins with")
	var refused consortium.Report
	stderr = c.ask(1, &refused, "tx", "approve", strings.Repeat("0", 64), "--home", c.home0)
	require.Contains(t, stderr, "(M5, code 16)")
	require.Equal(t, abci.CodeProposal, refused.Code)
	require.Contains(t, refused.Log, "M5")
	c.ask(0, &r, "tx", "approve", join[:8], "--home", c.home0)
	require.Equal(t, join, r.Proposal)
	require.Contains(t, r.About, "worker alone")
	added, err := new(home.Keystore).LoadKeys(filepath.Join(second, "config/participant_key.json"))
	require.NoError(t, err)
	require.Contains(t, r.About, fmt.Sprintf("signing key %x", added.Public()), "who approves can compare the key")
	require.Contains(t, r.Next, "in force since height")
	stderr = c.ask(1, nil, "tx", "approve", join[:8], "--home", c.home0)
	require.Contains(t, stderr, "is in force since height", "a late approval")
	c.eventually("both train", func() bool {
		var record app.Record
		c.ask(0, &record, "query", "round")
		return len(record.Contributions) == 2
	})
	warnedAgain(t, c, second)
	var near []app.Neighbours
	c.ask(0, &near, "query", "neighbours")
	require.Len(t, near, 2)
	stdout, _, _ = spdl(t, "query", "membership", "--node", c.rpc)
	require.Contains(t, stdout, id[:16])
	require.Contains(t, stdout, `"the \"second\""`, "a moniker is quoted")

	// It equivocates, and is restored.
	c.ask(1, &refused, "tx", "restore", "1", "--home", c.home0)
	require.Equal(t, abci.CodeProposal, refused.Code, "its reputation is not 0")
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(second, "config/participant_key.json"))
	require.NoError(t, err)
	var files []string
	for _, payload := range []string{"one", "another"} {
		x, err := tx.Sign(s.ChainID, &tx.Gradient{Round: s.Round, Participant: 1, Payload: []byte(payload)}, keys.Signing)
		require.NoError(t, err)
		files = append(files, filepath.Join(t.TempDir(), "tx"))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(base64.StdEncoding.EncodeToString(x.Raw)), 0o600))
	}
	c.ask(0, &r, "tx", "evidence", files[0], files[1])
	var offences []app.Offence
	c.ask(0, &offences, "query", "evidence")
	require.Len(t, offences, 1)
	var named []struct{ Of string }
	c.ask(0, &named, "query", "evidence")
	require.Equal(t, "gradient", named[0].Of)
	var standings []query.Standing
	c.ask(0, &standings, "query", "reputation")
	require.False(t, standings[1].MayLead)
	c.ask(0, &r, "tx", "restore", id[:12], "--home", c.home0)
	require.Contains(t, r.Next, "needs 1 more approval")
	withdrawn(t, c, second, r.Proposal)
	c.ask(0, &r, "tx", "restore", id[:12], "--home", c.home0)
	c.ask(0, &r, "tx", "approve", r.Proposal, "--home", second)
	require.Contains(t, r.Next, "in force since height")
	stderr = c.ask(1, nil, "tx", "withdraw", r.Proposal, "--home", second)
	require.Contains(t, stderr, "is in force since height")
	c.ask(0, &standings, "query", "reputation")
	require.True(t, standings[1].MayLead)

	// It leaves.
	stderr = c.ask(2, nil, "tx", "leave", "--home", second)
	require.Contains(t, stderr, "after it N is 1 (now 2)")
	require.Contains(t, stderr, "leaving is final, and waits for nobody's approval")
	c.ask(0, &r, "tx", "leave", "--home", second, "--yes")
	require.Contains(t, r.Next, "in force since height")
	stderr = c.ask(1, nil, "tx", "leave", "--home", second)
	require.Contains(t, stderr, "participant 1, which has left")

	// An epoch follows, and ends.
	var l query.Leader
	c.ask(0, &l, "query", "leader")
	stderr = c.ask(2, nil, "tx", "start-epoch", "--home", c.home0, "--rule", "nonsense")
	require.Contains(t, stderr, "want one of agnostic-mean, bulyan")
	var p params.Params
	c.ask(0, &p, "query", "params")
	p.Rule.Unsquared, p.Training.Rounds = true, 3
	data, err := json.Marshal(p)
	require.NoError(t, err)
	params := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(params, data, 0o600))
	stderr = c.ask(2, nil, "tx", "start-epoch", "--home", c.home0, "--epsilon", "0.01")
	require.Contains(t, stderr, "--epsilon 0.01 does not pay for")
	budget, err := preset.EpsilonAfter(p.Privacy, 1)
	require.NoError(t, err)
	poor := []string{"tx", "start-epoch", "--home", c.home0, "--rounds", "1", "--epsilon", fmt.Sprint(budget * 1.0001)}
	stderr = c.ask(2, nil, poor...)
	require.Contains(t, stderr, "pays for 0 of the 1 rounds of participants [0]")
	stderr = c.ask(0, &r, append(poor, "--force", "--dry-run")...)
	require.Contains(t, stderr, "pays for 0 of the 1 rounds", "it is warned of")
	stderr = c.ask(0, &r, "tx", "start-epoch", "--home", c.home0, "--params", params, "--keep-model", "--now")
	require.Contains(t, stderr, "warning: rule.unsquared")
	require.Regexp(t, "in force since height|opens when the training is finished", r.Next,
		"as its block closes a round or not")
	c.eventually("the epoch is trained", func() bool {
		c.ask(0, &s, "query", "status")
		return s.Epoch == 1 && s.Done
	})
	stderr = c.ask(1, nil, "query", "leader")
	require.Contains(t, stderr, "training is finished")
	var epochs []query.EpochState
	c.ask(0, &epochs, "query", "epochs")
	require.Len(t, epochs, 2)
	var record app.Record
	c.ask(0, &record, "query", "round", "0", "1")
	require.Zero(t, record.Epoch)
	c.ask(0, &record, "query", "round")
	require.Equal(t, uint64(1), record.Epoch)
	require.Equal(t, uint64(2), record.Round)
	var e query.Election
	c.ask(0, &e, "query", "election", "0", fmt.Sprint(epochs[0].Rounds-1))
	require.Len(t, e.Outputs, 1)
	var model query.ModelState
	c.ask(0, &model, "query", "model", "0", fmt.Sprint(epochs[0].Rounds-1))
	require.Equal(t, epochs[0].ModelHash, model.Hash)
	auditedLog(t, c, join)
}

// warnedAgain proposes an epoch with weak parameters, whose budget is spent, and checks that the other
// home reads the warnings of the proposer before it approves, and that nobody proposes or approves it twice.
func warnedAgain(t *testing.T, c soloChain, second string) {
	var p params.Params
	c.ask(0, &p, "query", "params")
	p.Rule.Unsquared = true
	data, err := json.Marshal(p)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	budget, err := preset.EpsilonAfter(p.Privacy, 1)
	require.NoError(t, err)
	propose := []string{"tx", "start-epoch", "--params", file, "--rounds", "1", "--epsilon", fmt.Sprint(budget * 1.0001)}
	var r consortium.Report
	stderr := c.ask(2, nil, append(propose, "--home", c.home0)...)
	require.Contains(t, stderr, "say --force")
	warned := c.ask(0, &r, append(propose, "--force", "--home", c.home0)...)
	require.Contains(t, warned, "warning: rule.unsquared")
	require.Contains(t, warned, "pays for 0 of the 1 rounds of participant 0, which has spent epsilon ")
	stderr = c.ask(1, nil, "tx", "approve", r.Proposal, "--yes", "--home", c.home0)
	require.Contains(t, stderr, "participant 0 has approved "+strings.ToUpper(r.Proposal)+" already")
	stderr = c.ask(2, nil, "tx", "approve", r.Proposal, "--home", second)
	require.Contains(t, stderr, "warning: rule.unsquared")
	require.Contains(t, stderr, "pays for 0 of the 1 rounds of participant 0, which has spent epsilon ")
	require.Contains(t, stderr, "say --yes")
	c.ask(0, nil, "tx", "approve", r.Proposal, "--home", second, "--dry-run")
	c.ask(0, nil, "tx", "withdraw", r.Proposal, "--home", c.home0)
}

// withdrawn withdraws a proposal of the first home, which the second home has not approved, and checks what each
// command says of it.
func withdrawn(t *testing.T, c soloChain, second, proposal string) {
	var open struct {
		Open []struct {
			ID      string
			Height  uint64
			Expires uint64
		}
	}
	c.ask(0, &open, "query", "proposals")
	require.Len(t, open.Open, 1)
	require.Equal(t, open.Open[0].Height+app.Lifetime, open.Open[0].Expires)
	stderr := c.ask(1, nil, "tx", "withdraw", proposal[:10], "--home", second)
	require.Contains(t, stderr, "participant 1 has not approved "+strings.ToUpper(proposal)+
		", approved by participants [0]")
	var dry, r consortium.Report
	c.ask(0, &dry, "tx", "withdraw", proposal[:10], "--home", c.home0, "--dry-run")
	c.ask(0, &r, "tx", "withdraw", proposal[:10], "--home", c.home0)
	require.Equal(t, "withdraw", r.Kind)
	require.Equal(t, proposal, r.Proposal)
	require.Equal(t, fmt.Sprintf("the proposal is withdrawn since height %d: no approval that counts is left", r.Height),
		r.Next)
	ended := fmt.Sprintf("proposal %s (restore) was withdrawn at height %d", proposal[:8], r.Height)
	require.Contains(t, c.ask(1, nil, "tx", "withdraw", proposal, "--home", c.home0), ended)
	require.Contains(t, c.ask(1, nil, "tx", "approve", proposal[:8], "--home", second), ended)
	stdout, _, _ := spdl(t, "query", "proposals", "--node", c.rpc)
	require.Regexp(t, proposal[:8]+` .* nobody any more +withdrawn at height `+fmt.Sprint(r.Height), stdout)
	var m query.Membership
	c.ask(0, &m, "query", "membership")
	require.Empty(t, m.Proposals)
	var ps []app.Participant
	c.ask(0, &ps, "query", "participants")
	require.EqualValues(t, 2, ps[0].Revocations, "and one of the epoch")
	again, err := tx.Decode(dry.Tx)
	require.NoError(t, err)
	require.EqualValues(t, 1, again.Body.(*tx.Withdraw).Revocations, "so nobody can send it again")
}

// auditedLog checks that the log of the chain has what was done, and that its file is proven by the
// home's genesis alone, and through the node.
func auditedLog(t *testing.T, c soloChain, join string) {
	var log audit.Log
	stdout, stderr, code := spdl(t, "audit", "log", "--node", c.rpc, "-o", "json")
	require.Zero(t, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &log))
	var kinds []string
	for _, e := range log.Entries {
		if kinds = append(kinds, e.Kind); e.Proposal == join && e.Kind == "join" {
			require.Equal(t, audit.Enacted, e.Result)
			require.Len(t, e.Approvals, 1)
		}
	}
	require.Subset(t, kinds, []string{"rotate", "join", "approve", "withdraw", "evidence", "restore", "remove",
		"start-epoch"})
	file := filepath.Join(t.TempDir(), "log.json")
	require.NoError(t, os.WriteFile(file, []byte(stdout), 0o600))
	genesis := filepath.Join(c.home0, "config", "genesis.json")
	text, stderr, code := spdl(t, "verify", "log", file, "--genesis", genesis)
	require.Zero(t, code, stderr)
	require.Contains(t, text, fmt.Sprintf("verified    %d entries", len(log.Entries)))
	blocks, err := log.Blocks()
	require.NoError(t, err)
	trust := []string{"--trust-height", fmt.Sprint(blocks[0].Height), "--trust-hash", hex.EncodeToString(blocks[0].Hash())}
	c.ask(0, nil, append([]string{"verify", "log", file}, trust...)...)
	_, stderr, code = spdl(t, append([]string{"verify", "log", file, "--offline"}, trust...)...)
	require.Zero(t, code, stderr)
	forged := strings.Replace(stdout, `"kind": "restore"`, `"kind": "remove"`, 1)
	require.NoError(t, os.WriteFile(file, []byte(forged), 0o600))
	_, stderr, code = spdl(t, "verify", "log", file, "--genesis", genesis)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `it says kind "remove", its bytes "restore"`)
	table, _, _ := spdl(t, "audit", "log", "--node", c.rpc, "--kind", "join,approve", "--csv")
	require.Contains(t, table, "height,time,kind,actor")
	require.Contains(t, table, join)
	require.NotContains(t, table, "rotate")
}

// modelReports checks that what is said of an exported model leaves its proof to the
// file, where it verifies.
func modelReports(t *testing.T, c soloChain) {
	file := filepath.Join(t.TempDir(), "m.safetensors")
	var exported, verified struct {
		Verified bool           `json:"verified"`
		Card     map[string]any `json:"card"`
	}
	c.ask(0, &exported, "model", "export", "--round", "0", "--out", file)
	f, _, err := prove.Read(file)
	require.NoError(t, err)
	header, err := f.Header()
	require.NoError(t, err)
	c.ask(0, &verified, "verify", "model", file, "--offline", "--trust-hash", hex.EncodeToString(header.Hash()))
	require.True(t, verified.Verified)
	var participant struct {
		Verified bool      `json:"verified"`
		Time     time.Time `json:"time"`
	}
	own := []string{"verify", "participant", "0", "--trust-height", fmt.Sprint(header.Height), "--trust-hash",
		hex.EncodeToString(header.Hash())}
	c.ask(0, &participant, own...)
	require.True(c, participant.Verified)
	require.WithinDuration(c, time.Now(), participant.Time, 10*time.Minute)
	require.Contains(c, c.ask(1, nil, append(own, "--max-age", "1ns")...), "at most 1ns is taken")
	for _, card := range []map[string]any{exported.Card, verified.Card} {
		require.NotContains(t, card, "proof")
		require.Equal(t, f.Card.ModelHash, card["model_hash"])
		require.Equal(t, f.Card.Digest, card["digest"])
	}
}
