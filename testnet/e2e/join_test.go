//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// spdl runs a command to its end and decodes its JSON.
func spdl(t *testing.T, into any, args ...string) {
	t.Helper()
	cmd := exec.Command(binary, append(args, "-o", "json")...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "spdl %v: %s", args, errs.String())
	if into != nil {
		require.NoError(t, json.Unmarshal(out, into), "%s", out)
	}
}

// allow lets the node of a home in at all nodes of a net, which may run.
func allow(t *testing.T, made *testnet.Net, home string) {
	t.Helper()
	key, err := p2p.LoadNodeKey(filepath.Join(home, "config", "node_key.json"))
	require.NoError(t, err)
	for _, node := range made.Nodes {
		file := filepath.Join(node.Home, "config", "app.toml")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		line := regexp.MustCompile(`(?m)^allowed_peers = .*$`)
		require.Regexp(t, line, string(text))
		require.NoError(t, os.WriteFile(file, line.ReplaceAll(text, fmt.Appendf(nil, "allowed_peers = %q", key.ID())), 0o600))
	}
}

// TestJoin: a fifth node joins a running net of four by `spdl init`, `tx join`
// and three approvals. It is in the round after, its validator votes two heights
// later, its keys are rotated while it runs, another node leaves; training never
// stops.
func TestJoin(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3)
	ctx := context.Background()

	home := filepath.Join(t.TempDir(), "erin")
	spdl(t, nil, "init", "erin", "--home", home)
	genesis, err := os.ReadFile(filepath.Join(n.Net.Nodes[0].Home, "config", "genesis.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "config", "genesis.json"), genesis, 0o600))
	var peers []string
	for _, node := range n.Net.Nodes {
		var id struct {
			NodeID string `json:"node_id"`
		}
		spdl(t, &id, "show-node-id", "--home", node.Home)
		peers = append(peers, id.NodeID+"@"+node.P2P)
	}
	rpc := "tcp://" + stage.Address(t)
	erin := exec.Command(binary, "start", "--home", home)
	erin.Env = append(os.Environ(),
		"CMT_RPC_LADDR="+rpc, "CMT_P2P_LADDR=tcp://"+stage.Address(t), "CMT_P2P_PERSISTENT_PEERS="+strings.Join(peers, ","),
		"CMT_P2P_PEX=false", "CMT_P2P_ADDR_BOOK_STRICT=false", "CMT_P2P_ALLOW_DUPLICATE_IP=true", "SPDL_WORKER_DATA=embedded",
		"SPDL_WORKER_PARTS=5", "SPDL_WORKER_PART=4")
	log, err := os.Create(filepath.Join(t.TempDir(), "erin.log"))
	require.NoError(t, err)
	erin.Stdout, erin.Stderr = log, log
	require.NoError(t, erin.Start())
	t.Cleanup(func() {
		_ = erin.Process.Kill()
		_ = erin.Wait()
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("erin: %s", out)
		}
	})
	c, err := client.New(rpc)
	require.NoError(t, err)
	time.Sleep(3 * time.Second) // it dials members that do not let it in yet
	allow(t, n.Net, home)
	n.eventually(func() bool {
		s, err := c.Status(ctx)
		at, ok := n.round(0)
		if err != nil || !ok || s.Round+2 < at {
			return false
		}
		whole, err := c.RPC().Status(ctx) // a node that catches up takes no transaction
		return err == nil && !whole.SyncInfo.CatchingUp
	}, "the new node follows the chain")

	spdl(t, nil, "tx", "join", "--yes", "--home", home, "--node", rpc)
	for i := range 3 { // each asks its own node, which may be a block behind
		var m query.Membership
		n.eventually(func() bool {
			spdl(t, &m, "query", "membership", "--node", n.Net.Nodes[i].RPC)
			return len(m.Proposals) == 1
		}, "node %d knows the proposal", i)
		spdl(t, nil, "tx", "approve", m.Proposals[0].ID[:8], "--home", n.Net.Nodes[i].Home, "--node", n.Net.Nodes[i].RPC)
	}
	var joined uint64
	n.eventually(func() bool {
		ps, err := n.clients[0].Participants(ctx)
		if err != nil || len(ps) < 5 {
			return false
		}
		joined = ps[4].Joined
		return true
	}, "the fifth participant is in")
	n.reach(joined + 4)
	first := joined
	for len(n.record(0, first).Contributions) < 5 { // anybody's gradient may miss a round
		first++
		require.Less(t, first, joined+100, "all five have joined in round %d", joined)
	}
	validators, err := n.clients[0].RPC().Validators(ctx, nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 5, validators.Total)

	spdl(t, nil, "tx", "rotate", "--home", home, "--node", rpc)
	at := n.open(0)
	included := func() bool {
		r, err := client.Ask[app.Record](ctx, n.clients[0], fmt.Sprintf("/round/%d", at))
		if at, _ = n.round(0); at > 0 {
			at--
		}
		return err == nil && len(r.Contributions) == 5
	}
	n.eventually(included, "the running worker takes the new keys up")

	spdl(t, nil, "tx", "leave", "--yes", "--home", n.Net.Nodes[1].Home, "--node", n.Net.Nodes[1].RPC)
	n.eventually(func() bool {
		ps, err := n.clients[0].Participants(ctx)
		return err == nil && !ps[1].Active
	}, "participant 1 has left")
	at = n.open(0)
	n.reach(at + 5)
	n.eventually(func() bool {
		v, err := n.clients[0].RPC().Validators(ctx, nil, nil, nil)
		return err == nil && v.Total == 4
	}, "its validator has left")
	var s query.Status
	n.eventually(func() bool {
		spdl(t, &s, "query", "status", "--node", rpc)
		return s.Participants == 4
	}, "the new node knows it")
	n.sameHashes()
	t.Log(fmt.Sprintf("joined for round %d, first gradient in round %d, 5 validators; rotated; another left; "+
		"round %d by now", joined, first, s.Round))
}
