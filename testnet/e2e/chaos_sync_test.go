//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/p2p"
	protosync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	protostate "github.com/cometbft/cometbft/proto/tendermint/statesync"
	"github.com/cometbft/cometbft/statesync"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet/hostile"
)

// A new node joins by state sync, also beside struck nodes whose snapshots are not what they were.
var syncCells = []cell{
	{name: "state-sync", env: []string{"SPDL_SNAPSHOT_INTERVAL=20"}, do: func(c *chaos) { synced(c) }},
	{name: "state-sync-corrupt", env: []string{"SPDL_SNAPSHOT_INTERVAL=20"}, do: func(c *chaos) {
		c.snapshots()
		for _, i := range c.struck {
			require.NoError(c, c.Terminate(i))
			corrupt(c, filepath.Join(c.Net.Nodes[i].Home, "data"))
			require.NoError(c, c.Start(i, "SPDL_SNAPSHOT_INTERVAL=0"))
		}
		c.reach(c.highest())
		synced(c)
	}},
	{name: "state-sync-mixed", env: []string{"SPDL_SNAPSHOT_INTERVAL=20"}, do: func(c *chaos) {
		for _, i := range c.rng.Perm(c.n)[:c.n/2] {
			require.NoError(c, c.Terminate(i))
			require.NoError(c, c.Start(i, "SPDL_SNAPSHOT_INTERVAL=20", "SPDL_P2P_GOSSIP=flood"))
		}
		c.reach(c.highest())
		synced(c)
	}},
	{name: "state-sync-adversary", env: []string{"SPDL_SNAPSHOT_INTERVAL=20"},
		do: func(c *chaos) { synced(c, c.offerNothing) }},
}

// offerNothing lets three peers offer ever new snapshots that they do not have to a new node, of
// heights that the chain has, and say that the chain is longer than it is.
func (c *chaos) offerNothing(to *client.Client) (end func()) {
	c.eventually(func() bool { _, err := to.RPC().Status(context.Background()); return err == nil },
		"the new node does not answer")
	n := &net{T: c.T, Processes: c.Processes, clients: append(c.clients[:c.n:c.n], to)}
	attack := hostile.Behaviour{Also: hostile.BlockChannels, Attack: hostile.Repeated(func(_ *hostile.Peer,
		p p2p.Peer) bool {
		time.Sleep(200 * time.Millisecond)
		s, err := c.clients[0].RPC().Status(context.Background())
		if err != nil {
			return true
		}
		hashes := hostile.Hashes(1)
		hash := sha256.Sum256(hashes)
		return hostile.Tell(p, blocksync.BlocksyncChannel, &protosync.StatusResponse{Height: 1 << 60}) &&
			hostile.Tell(p, statesync.SnapshotChannel, &protostate.SnapshotsResponse{
				Height: uint64(s.SyncInfo.LatestBlockHeight - 4), Format: 2, Chunks: 1, Hash: hash[:], Metadata: hashes,
			})
	})}
	var ends []func()
	for range 3 {
		ends = append(ends, n.attackAll(attack))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// snapshots waits until every node has taken one.
func (c *chaos) snapshots() {
	c.Helper()
	c.eventually(func() bool {
		s, err := c.clients[0].RPC().Status(context.Background())
		return err == nil && s.SyncInfo.LatestBlockHeight > 45
	}, "no snapshot")
	c.reach(c.highest())
}

// corrupt changes a byte of every chunk of the snapshots that a stopped node keeps.
func corrupt(c *chaos, data string) {
	c.Helper()
	db, err := dbm.NewDB("application", dbm.GoLevelDBBackend, data)
	require.NoError(c, err)
	defer func() { require.NoError(c, db.Close()) }()
	it, err := db.Iterator([]byte("z"), []byte("{")) // chunks, by the store
	require.NoError(c, err)
	kept := map[string][]byte{}
	for ; it.Valid(); it.Next() {
		kept[string(it.Key())] = append([]byte(nil), it.Value()...)
	}
	require.NoError(c, it.Close())
	require.NotEmpty(c, kept, "no snapshot to corrupt")
	for key, document := range kept {
		document[c.rng.IntN(len(document))] ^= 1
		require.NoError(c, db.SetSync([]byte(key), document))
	}
}

// synced lets a new node join by state sync, which others may meet. It is held to the invariants
// with all others.
func synced(c *chaos, met ...func(*client.Client) (end func())) {
	c.snapshots()
	home := filepath.Join(c.TempDir(), "new")
	spdl(c.T, nil, "init", "new", "--home", home)
	genesis, err := os.ReadFile(filepath.Join(c.Net.Nodes[0].Home, "config", "genesis.json"))
	require.NoError(c, err)
	require.NoError(c, os.WriteFile(filepath.Join(home, "config", "genesis.json"), genesis, 0o600))
	trust := int64(5)
	header, err := c.clients[0].RPC().Commit(context.Background(), &trust)
	require.NoError(c, err)
	rpc := "tcp://" + stage.Address(c.T)
	open := fmt.Sprintf("SPDL_P2P_MEMBERS_ONLY=%t", len(met) == 0) // strangers reach a node that is open alone
	sound := c.sound()
	server := func(i int) string { return strings.TrimPrefix(c.Net.Nodes[sound[i]].RPC, "tcp://") }
	start := time.Now()
	c.beside(home, open, "CMT_RPC_LADDR="+rpc, "SPDL_WORKER_ENABLED=false", "CMT_STATESYNC_ENABLE=true",
		"CMT_STATESYNC_DISCOVERY_TIME=5s",
		fmt.Sprintf("CMT_STATESYNC_TRUST_HEIGHT=%d", trust), "CMT_STATESYNC_TRUST_HASH="+header.Commit.BlockID.Hash.String(),
		"CMT_STATESYNC_RPC_SERVERS="+server(0)+","+server(1))
	joined, err := client.New(rpc)
	require.NoError(c, err)
	for _, meet := range met {
		defer meet(joined)()
	}
	c.eventually(func() bool {
		s, err := joined.RPC().Status(context.Background())
		return err == nil && !s.SyncInfo.CatchingUp && s.SyncInfo.EarliestBlockHeight > 1
	}, "the new node is not synced")
	c.note("synced in %.1f s", time.Since(start).Seconds())
	c.clients = append(c.clients, joined)
}
