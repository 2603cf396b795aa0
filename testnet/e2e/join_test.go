//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	stdnet "net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
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

func loopback(t *testing.T) string {
	t.Helper()
	l, err := stdnet.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestJoin: a fifth node joins a running net of four by `spdl init`, `tx join`
// and three approvals. It is in the round after, its validator votes two heights
// later, its keys are rotated while it runs, another node leaves; training never
// stops.
func TestJoin(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3, time.Minute)
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
	rpc := "tcp://" + loopback(t)
	erin := exec.Command(binary, "start", "--home", home)
	erin.Env = append(os.Environ(),
		"CMT_RPC_LADDR="+rpc, "CMT_P2P_LADDR=tcp://"+loopback(t), "CMT_P2P_PERSISTENT_PEERS="+strings.Join(peers, ","),
		"CMT_P2P_PEX=false", "CMT_P2P_ADDR_BOOK_STRICT=false", "CMT_P2P_ALLOW_DUPLICATE_IP=true", "SPDL_WORKER_PARTS=5", "SPDL_WORKER_PART=4")
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
	require.Eventually(t, func() bool {
		s, err := c.Status(ctx)
		at, ok := n.round(0)
		return err == nil && ok && s.Round+2 >= at
	}, time.Minute, 50*time.Millisecond, "the new node follows the chain")

	spdl(t, nil, "tx", "join", "--home", home, "--node", rpc)
	var m abci.Membership
	spdl(t, &m, "query", "membership", "--node", n.Net.Nodes[0].RPC)
	require.Len(t, m.Proposals, 1)
	for i := range 3 {
		spdl(t, nil, "tx", "approve", m.Proposals[0].ID[:8], "--home", n.Net.Nodes[i].Home, "--node", n.Net.Nodes[i].RPC)
	}
	var joined uint64
	require.Eventually(t, func() bool {
		ps, err := n.clients[0].Participants(ctx)
		if err != nil || len(ps) < 5 {
			return false
		}
		joined = ps[4].Joined
		return true
	}, time.Minute, 20*time.Millisecond)
	n.reach(joined+4, time.Minute)
	first := uint64(0)
	for r := joined; first == 0 && r < joined+4; r++ {
		record, err := n.clients[0].Round(ctx, r)
		require.NoError(t, err)
		if len(record.Contributions) == 5 {
			first = r
		}
	}
	require.NotZero(t, first, "worker within four rounds of joining in round %d", joined)
	validators, err := n.clients[0].RPC().Validators(ctx, nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 5, validators.Total)

	spdl(t, nil, "tx", "rotate", "--home", home, "--node", rpc)
	at, _ := n.round(0)
	included := func() bool {
		r, err := n.clients[0].Round(ctx, at)
		if at, _ = n.round(0); at > 0 {
			at--
		}
		return err == nil && len(r.Contributions) == 5
	}
	require.Eventually(t, included, time.Minute, 100*time.Millisecond, "the running worker takes the new keys up")

	spdl(t, nil, "tx", "leave", "--home", n.Net.Nodes[1].Home, "--node", n.Net.Nodes[1].RPC)
	require.Eventually(t, func() bool {
		ps, err := n.clients[0].Participants(ctx)
		return err == nil && !ps[1].Active
	}, time.Minute, 20*time.Millisecond)
	at, _ = n.round(0)
	n.reach(at+5, time.Minute)
	require.Eventually(t, func() bool {
		v, err := n.clients[0].RPC().Validators(ctx, nil, nil, nil)
		return err == nil && v.Total == 4
	}, time.Minute, 50*time.Millisecond)
	var s abci.Status
	spdl(t, &s, "query", "status", "--node", rpc)
	require.Equal(t, 4, s.Participants)
	n.sameHashes()
	t.Log(fmt.Sprintf("joined for round %d, first gradient in round %d, 5 validators; rotated; another left; round %d by now", joined, first, s.Round))
}
