package testnet

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

func TestInit(t *testing.T) {
	m := Manifest{Home: t.TempDir(), Validators: 7, Neighbours: 4, Rounds: 9, Rule: "krum", Seed: 5,
		Partition: "dirichlet", Alpha: 0.5}
	n, err := Init(m)
	require.NoError(t, err)
	require.Len(t, n.Nodes, 7)
	require.Len(t, n.Genesis.Participants, 7)
	require.Equal(t, uint64(9), n.Genesis.Params.Training.Rounds)
	require.Equal(t, "krum", n.Genesis.Params.Rule.Name)

	var genesis []byte
	ports := map[string]bool{}
	for i, node := range n.Nodes {
		require.Equal(t, fmt.Sprintf("%s/node%d", m.Home, i), node.Home)
		data, err := os.ReadFile(node.home.Config.GenesisFile())
		require.NoError(t, err)
		if genesis == nil {
			genesis = data
		}
		require.Equal(t, genesis, data, "one genesis for all")
		require.Equal(t, i, node.app.Worker.Part)
		require.Equal(t, 7, node.app.Worker.Parts)
		ports[node.RPC], ports["tcp://"+node.P2P] = true, true
	}
	require.Len(t, ports, 14)
	for address := range ports {
		require.True(t, strings.HasPrefix(address, "tcp://127.0.0.1:"), "loopback only: %s", address)
	}

	again, err := Open(m.Home)
	require.NoError(t, err)
	require.Equal(t, n.Genesis, again.Genesis)
	for i := range n.Nodes {
		require.Equal(t, n.Nodes[i].RPC, again.Nodes[i].RPC)
		require.Equal(t, n.Nodes[i].P2P, again.Nodes[i].P2P)
		require.Equal(t, n.Nodes[i].app, again.Nodes[i].app)
		require.Equal(t, n.Nodes[i].home.Config.P2P, again.Nodes[i].home.Config.P2P)
	}
	_, err = Init(m)
	require.ErrorContains(t, err, "is not empty, it has manifest.toml")
}

// TestColluderWait: the proposers of a net with colluders wait longer, as each of these trains as all participants.
func TestColluderWait(t *testing.T) {
	proposal := func(kind string) home.ProposalConfig {
		n, err := Init(Manifest{Home: t.TempDir(), Validators: 7, Seed: 5, Attacks: []Attack{{Kind: kind}}})
		require.NoError(t, err)
		return n.Nodes[6].app.Proposal
	}
	alone, together := proposal("silent"), proposal("hidden-ascent")
	require.Equal(t, alone.Wait.Duration+7*collusion, together.Wait.Duration)
	require.Equal(t, alone.StragglerWait.Duration+7*collusion, together.StragglerWait.Duration)
}

// TestSeed: a seed fixes what the chain starts from, and no seed nothing.
func TestSeed(t *testing.T) {
	seedOf := func(seed uint64) app.HexBytes {
		n, err := Init(Manifest{Home: t.TempDir(), Seed: seed})
		require.NoError(t, err)
		require.Equal(t, seed != 0, n.Nodes[0].app.Worker.TestSeed != 0)
		return n.Genesis.Seed
	}
	require.Equal(t, seedOf(1), seedOf(1))
	require.NotEqual(t, seedOf(1), seedOf(2))
	require.NotEqual(t, seedOf(0), seedOf(0))
}

// TestPeers: the graph is connected, has no loops, and losing any f nodes
// leaves nobody alone.
func TestPeers(t *testing.T) {
	for _, c := range []struct{ n, k int }{{4, 3}, {4, 2}, {7, 3}, {7, 4}, {10, 9}, {20, 8}, {30, 10}, {31, 11}} {
		n, err := Init(Manifest{Home: t.TempDir(), Validators: c.n, Neighbours: c.k})
		require.NoError(t, err)
		linked := make([]map[int]bool, c.n)
		for i := range linked {
			linked[i] = map[int]bool{}
		}
		for i := range n.Nodes {
			peers := n.peers(i, func(_, k int) string { return n.Nodes[k].P2P })
			require.Len(t, peers, c.k)
			for _, p := range peers {
				for j := range n.Nodes {
					if strings.HasPrefix(p, string(n.Nodes[j].home.NodeID)+"@") {
						require.NotEqual(t, i, j)
						require.Equal(t, fmt.Sprintf("%s@%s", n.Nodes[j].home.NodeID, n.Nodes[j].P2P), p)
						linked[i][j], linked[j][i] = true, true
					}
				}
			}
		}
		f := (c.n - 1) / 3
		for start := range c.n { // f neighbours in a row are the cut that a ring fears
			for _, gap := range []int{1, 2} {
				down := map[int]bool{}
				for k := range f {
					down[(start+gap*k)%c.n] = true
				}
				require.Equal(t, c.n-len(down), reach(linked, down), "n=%d k=%d without %v", c.n, c.k, down)
			}
		}
	}
}

// reach counts the nodes that the first living one is connected with, itself
// included.
func reach(linked []map[int]bool, down map[int]bool) int {
	seen := map[int]bool{}
	var visit func(int)
	visit = func(i int) {
		if seen[i] || down[i] {
			return
		}
		seen[i] = true
		for j := range linked[i] {
			visit(j)
		}
	}
	for i := range linked {
		if !down[i] {
			visit(i)
			break
		}
	}
	return len(seen)
}

// TestPorts: a net with a first port takes two ports a node from there on, and is not made where one of them is taken.
func TestPorts(t *testing.T) {
	free, err := freePorts(1)
	require.NoError(t, err)
	m := Manifest{Home: t.TempDir(), Port: free[0], Validators: 4, Relays: 1}
	n, err := Init(m)
	require.NoError(t, err)
	for i, node := range n.Nodes {
		require.Equal(t, fmt.Sprintf("tcp://127.0.0.1:%d", m.Port+2*i), node.RPC)
	}
	require.Equal(t, fmt.Sprintf("127.0.0.1:%d", m.Port+9), n.Nodes[4].P2P)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", m.Port+3))
	require.NoError(t, err)
	defer l.Close()
	m.Home = t.TempDir()
	_, err = Init(m)
	require.ErrorContains(t, err, fmt.Sprintf("port %d of the nodes' %d to %d: choose another --port: ", m.Port+3, m.Port,
		m.Port+9))
	m.Port = 65527
	_, err = Init(m)
	require.ErrorContains(t, err, "port is 65527, want 1 to 65526: each node takes two")
}
