//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
)

// A new node joins by state sync, also beside struck nodes whose snapshots are not what they were.
var syncCells = []cell{
	{name: "state-sync", env: []string{"SPDL_SNAPSHOT_INTERVAL=20"}, do: synced},
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

// synced lets a new node join by state sync. It is held to the invariants with all others.
func synced(c *chaos) {
	c.snapshots()
	home := filepath.Join(c.TempDir(), "new")
	spdl(c.T, nil, "init", "new", "--home", home)
	genesis, err := os.ReadFile(filepath.Join(c.Net.Nodes[0].Home, "config", "genesis.json"))
	require.NoError(c, err)
	require.NoError(c, os.WriteFile(filepath.Join(home, "config", "genesis.json"), genesis, 0o600))
	trust := int64(5)
	header, err := c.clients[0].RPC().Commit(context.Background(), &trust)
	require.NoError(c, err)
	rpc := "tcp://" + loopback(c.T)
	sound := c.sound()
	server := func(i int) string { return strings.TrimPrefix(c.Net.Nodes[sound[i]].RPC, "tcp://") }
	start := time.Now()
	c.beside(home, "CMT_RPC_LADDR="+rpc, "SPDL_WORKER_ENABLED=false", "CMT_STATESYNC_ENABLE=true", "CMT_STATESYNC_DISCOVERY_TIME=5s",
		fmt.Sprintf("CMT_STATESYNC_TRUST_HEIGHT=%d", trust), "CMT_STATESYNC_TRUST_HASH="+header.Commit.BlockID.Hash.String(),
		"CMT_STATESYNC_RPC_SERVERS="+server(0)+","+server(1))
	joined, err := client.New(rpc)
	require.NoError(c, err)
	c.eventually(func() bool {
		s, err := joined.RPC().Status(context.Background())
		return err == nil && !s.SyncInfo.CatchingUp && s.SyncInfo.EarliestBlockHeight > 1
	}, "the new node is not synced")
	c.note("synced in %.1f s", time.Since(start).Seconds())
	c.clients = append(c.clients, joined)
}
