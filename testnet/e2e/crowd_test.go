//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io"
	stdnet "net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/protoio"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	tmp2p "github.com/cometbft/cometbft/proto/tendermint/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

// knocker is a connection of a new id to a node, past the handshake.
type knocker struct {
	stdnet.Conn
	protoio.Writer
}

// knock connects a stranger to a node, and reads and forgets what that says.
func knock(at string, theirs p2p.DefaultNodeInfo) (*knocker, error) {
	raw, err := stdnet.DialTimeout("tcp", at, 3*time.Second)
	if err != nil {
		return nil, err
	}
	_ = raw.SetDeadline(time.Now().Add(5 * time.Second))
	key := ed25519.GenPrivKey()
	secret, err := conn.MakeSecretConnection(raw, key)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	mine := theirs
	mine.DefaultNodeID, mine.ListenAddr = p2p.PubKeyToID(key.PubKey()), "127.0.0.1:1"
	said := make(chan error, 1)
	go func() { _, err := protoio.NewDelimitedWriter(secret).WriteMsg(mine.ToProto()); said <- err }()
	var got tmp2p.DefaultNodeInfo
	if _, err := protoio.NewDelimitedReader(secret, 1<<20).ReadMsg(&got); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	if err := <-said; err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	_ = raw.SetDeadline(time.Time{})
	return &knocker{raw, protoio.NewDelimitedWriter(secret)}, nil
}

// infos are what the nodes of a net say of themselves.
func (n *net) infos() (all []p2p.DefaultNodeInfo) {
	n.Helper()
	for _, c := range n.clients {
		s, err := c.RPC().Status(context.Background())
		require.NoError(n, err)
		all = append(all, s.NodeInfo)
	}
	return all
}

// crowd connects so many strangers, who say nothing, to each node, and again whenever a connection
// ends, until the function that it returns is called.
func (n *net) crowd(k int) (end func()) {
	n.Helper()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for i, info := range n.infos() {
		at := n.Net.Nodes[i].P2P
		for range k {
			wg.Go(func() {
				for {
					if s, err := knock(at, info); err == nil {
						over := make(chan struct{})
						go func() { _, _ = io.Copy(io.Discard, s.Conn); close(over) }()
						select {
						case <-over:
						case <-quit:
						}
						s.Close()
						<-over
					}
					select {
					case <-quit:
						return
					case <-time.After(250 * time.Millisecond):
					}
				}
			})
		}
	}
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// TestStrangersAtEverySlot: more strangers than a node has slots for peers are at each door. All
// nodes are restarted, as they are at an upgrade's height. They meet again, and rounds go on.
func TestStrangersAtEverySlot(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
		for _, node := range made.Nodes {
			file := filepath.Join(node.Home, "config", "config.toml")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			slots := regexp.MustCompile(`(?m)^max_num_inbound_peers = .*$`) // what init writes
			require.NoError(t, os.WriteFile(file, slots.ReplaceAll(text, []byte("max_num_inbound_peers = 40")), 0o600))
		}
	})
	n.reach(3)
	calm := n.spend(5 * time.Second)
	defer n.crowd(44)()
	time.Sleep(3 * time.Second)
	crowd := n.spend(5 * time.Second)
	t.Logf("calm %+v, 44 strangers at each door %+v", calm, crowd)
	require.Greater(t, crowd.rounds, 0)
	at := n.open(0)
	for i := range n.Net.Nodes {
		require.NoError(t, n.Kill(i))
	}
	began := time.Now()
	for i := range n.Net.Nodes {
		require.NoError(t, n.Start(i))
	}
	n.reach(at + 5)
	t.Logf("five rounds %v after all four were started again", time.Since(began))
	for _, c := range n.clients {
		info, err := c.RPC().NetInfo(context.Background())
		require.NoError(t, err)
		require.Len(t, info.Peers, 3, "members alone are let in")
	}
	n.sameHashes()
}
