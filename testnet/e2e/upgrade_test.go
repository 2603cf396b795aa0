//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// release builds spdl as a program of another version of the state machine.
func release(t *testing.T, version uint64) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(binary), fmt.Sprintf("spdl-%d", version))
	out, err := exec.Command("go", "build", "-ldflags", fmt.Sprintf("-X github.com/spdl/spdl/app.stateMachine=%d",
		version), "-o", path, "../../cmd/spdl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// plan proposes an upgrade n heights ahead and approves it as participants 0 to 2.
// It returns its height.
func (n *net) plan(name string, version, ahead uint64) uint64 {
	n.Helper()
	s, err := n.clients[0].Status(context.Background())
	require.NoError(n, err)
	at := s.Height + ahead
	var proposed struct{ Proposal string }
	spdl(n.T, &proposed, "tx", "upgrade", name, "--height", fmt.Sprint(at), "--app-version", fmt.Sprint(version), "--home",
		n.Net.Nodes[0].Home, "--node", n.Net.Nodes[0].RPC)
	for i := 1; i < 3; i++ {
		n.eventually(func() bool {
			m, err := n.clients[i].Membership(context.Background())
			return err == nil && len(m.Proposals) == 1
		}, "node %d knows the proposal", i)
		spdl(n.T, nil, "tx", "approve", proposed.Proposal, "--home", n.Net.Nodes[i].Home, "--node", n.Net.Nodes[i].RPC)
	}
	n.eventually(func() bool {
		u, err := client.Ask[query.UpgradeState](context.Background(), n.clients[0], "/upgrade")
		return err == nil && u.Planned != nil && *u.Planned == (app.Upgrade{Name: name, Height: at, Version: version})
	}, "the upgrade is planned")
	return at
}

// stopsBefore waits until a node has ended before the height of an upgrade, and holds that
// it signed nothing there, and that nothing failed.
func (n *net) stopsBefore(i int, name string, at, version uint64) {
	n.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	code, err := n.Await(ctx, i)
	require.NoError(n, err)
	log, err := os.ReadFile(n.Net.Nodes[i].LogFile())
	require.NoError(n, err)
	require.Equal(n, node.ExitVersion, code, "node %d: %s", i, log)
	require.Contains(n, string(log), fmt.Sprintf(`upgrade "%s" makes it version %d from height %d on`, name, version, at))
	require.Contains(n, string(log), fmt.Sprintf("Height %d is the last that is executed here", at-1))
	require.NotContains(n, string(log), "CONSENSUS FAILURE")
	require.NotContains(n, string(log), "panic")
	signed, err := os.ReadFile(filepath.Join(n.Net.Nodes[i].Home, "data", "priv_validator_state.json"))
	require.NoError(n, err)
	require.NotContains(n, string(signed), fmt.Sprintf(`"height": "%d"`, at))
}

// refuses starts a program in a node's home and holds that it ends at once with a sentence.
func (n *net) refuses(program string, i int, sentence string) {
	n.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(program, "start", "--home", n.Net.Nodes[i].Home)
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(n, errors.As(err, &exit), "%v", err)
	require.Equal(n, node.ExitVersion, exit.ExitCode(), errs.String())
	require.Contains(n, errs.String(), sentence)
	n.Logf("node %d refuses: %s", i, bytes.TrimSpace(errs.Bytes()[max(0,
		bytes.LastIndex(errs.Bytes(), []byte("spdl: "))):]))
}

// goesOn starts nodes with a program and waits until all are beyond a height.
func (n *net) goesOn(program string, beyond uint64, nodes ...int) {
	n.Helper()
	for _, i := range nodes {
		n.Replace(i, program)
		require.NoError(n, n.Start(i))
	}
	for _, i := range nodes {
		n.eventually(func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			s, err := n.clients[i].Status(ctx)
			return err == nil && s.Height > beyond
		}, "node %d goes on after height %d", i, beyond)
	}
}

// TestUpgrade: all nodes of a net stop before the height of an approved upgrade; three go
// on with the new release, one comes late, refuses a wrong release and catches up. At a
// second upgrade one node is away: the release of before brings it to the last height of
// its version and stops, the next one goes on.
func TestUpgrade(t *testing.T) {
	v := app.Version
	next, third := release(t, v+1), release(t, v+2)
	n := start(t, testnet.Manifest{Validators: 4, Preset: "pixels"})
	n.reach(2)
	first := n.plan("first", v+1, 60)
	for i := range 4 {
		n.Expect(i)
	}
	for i := range 4 {
		n.stopsBefore(i, "first", first, v+1)
	}
	n.refuses(binary, 0, fmt.Sprintf("Put a release in place whose spdl version prints state machine %d", v+1))
	n.goesOn(next, first+3, 0, 1, 2)
	n.refuses(third, 3, fmt.Sprintf("executes version %d", v+2))
	n.goesOn(next, first+3, 3)

	second := n.plan("second", v+2, 60)
	n.eventually(func() bool {
		u, err := client.Ask[query.UpgradeState](context.Background(), n.clients[3], "/upgrade")
		return err == nil && u.Planned != nil
	}, "node 3 knows the plan")
	require.NoError(t, n.Kill(3))
	for i := range 3 {
		n.Expect(i)
	}
	for i := range 3 {
		n.stopsBefore(i, "second", second, v+2)
	}
	n.goesOn(third, second+3, 0, 1, 2)
	n.refuses(third, 3, "Start the release of before until it stops there by itself, then the one of version")
	require.NoError(t, n.Start(3))
	n.Expect(3)
	n.stopsBefore(3, "second", second, v+2)
	n.goesOn(third, second+3, 3)

	var u query.UpgradeState
	spdl(t, &u, "query", "upgrade", "--node", n.Net.Nodes[3].RPC)
	require.Equal(t, v+2, u.Version)
	require.Equal(t, []app.Upgrade{{Name: "first", Height: first, Version: v + 1}, {Name: "second", Height: second,
		Version: v + 2}}, u.Made)
	for height, want := range map[uint64]uint64{first - 1: v, first: v + 1, second - 1: v + 1, second: v + 2} {
		h := int64(height)
		header, err := n.clients[3].RPC().Header(context.Background(), &h)
		require.NoError(t, err)
		require.Equal(t, want, header.Header.Version.App, "height %d", height)
	}
	n.reach(n.open(0) + 3)
	heights := n.sameHashes()
	require.NoError(t, n.Stop())
	out, err := exec.Command(binary, "audit", "replay", "--home", n.Net.Nodes[0].Home, "-o", "json").Output()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%s", out)
	require.Equal(t, node.ExitVersion, exit.ExitCode(), "%s", exit.Stderr)
	require.Contains(t, string(out), fmt.Sprintf(`"last_height": %d`, first-1))
	t.Logf("upgrades at heights %d and %d, %d heights, all hashes equal; the audit: %s", first, second, heights,
		bytes.TrimSpace(exit.Stderr))
	n.dossiers(binary, next, third)
}

// dossiers lets the last release write an archive, and each release continue the dossier of the one before
// from it. It holds that the last dossier is of the whole chain, and verified by the genesis with the first
// release and the last.
func (n *net) dossiers(releases ...string) {
	n.Helper()
	var made struct{ Height, Rounds int64 }
	home, after := n.Net.Nodes[0].Home, ""
	archive := filepath.Join(n.TempDir(), "chain.spdl")
	text, err := exec.Command(releases[len(releases)-1], "audit", "archive", "--home", home, "--out", archive).
		CombinedOutput()
	require.NoError(n, err, "%s", text)
	for i, program := range releases {
		out := filepath.Join(n.TempDir(), fmt.Sprintf("%d.dossier.zip", i))
		args := []string{"dossier", archive, "--home", home, "--out", out, "-o", "json"}
		if after != "" {
			args = append(args, "--after", after)
		}
		cmd := exec.Command(program, args...)
		text, err := cmd.Output()
		var exit *exec.ExitError
		if i < len(releases)-1 {
			require.True(n, errors.As(err, &exit), "%s", text)
			require.Equal(n, node.ExitVersion, exit.ExitCode(), "%s", exit.Stderr)
		} else {
			errors.As(err, &exit)
			require.NoError(n, err, "%+v", exit)
		}
		require.NoError(n, json.Unmarshal(text, &made))
		after = out
	}
	for _, program := range []string{releases[0], releases[len(releases)-1]} {
		text, err := exec.Command(program, "verify", "dossier", after, "--genesis",
			filepath.Join(home, "config", "genesis.json"), "-o", "json").Output()
		require.NoError(n, err, "%s", text)
		var v struct {
			Height, Rounds int64
			First          int64 `json:"first_height"`
		}
		require.NoError(n, json.Unmarshal(text, &v))
		require.Equal(n, made.Height, v.Height)
		require.EqualValues(n, 1, v.First)
		n.Logf("a dossier of heights 1 to %d, %d rounds, by %d releases: verified", v.Height, v.Rounds, len(releases))
	}
}

// TestUpgradePerturbation: a manifest upgrades a net, with a node that tries a wrong
// release and is late.
func TestUpgradePerturbation(t *testing.T) {
	v := app.Version
	n := start(t, testnet.Manifest{Validators: 4, Preset: "pixels", Perturb: []testnet.Perturbation{{
		Node: 3, Round: 2, Action: testnet.Upgrade, Binary: release(t, v+1), Wrong: release(t, v+2), Heights: 60,
		For: time.Second,
	}}})
	n.reach(3)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n.Perturb(ctx, 2)
	n.eventually(func() bool {
		for _, c := range n.clients {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			u, err := client.Ask[query.UpgradeState](ctx, c, "/upgrade")
			cancel()
			if err != nil || u.Version != v+1 {
				return false
			}
		}
		return true
	}, "all nodes are of the new version")
	n.reach(n.open(0) + 2)
	n.sameHashes()
	log, err := os.ReadFile(n.Net.Nodes[3].LogFile())
	require.NoError(t, err)
	require.Contains(t, string(log), fmt.Sprintf("executes version %d", v+2))
}
