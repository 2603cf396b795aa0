package node

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/protoio"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	tmp2p "github.com/cometbft/cometbft/proto/tendermint/p2p"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
)

// visit connects to a node from 127.0.0.from as a key's owner, sends n messages of consensus, and
// returns when the node has ended the connection, or after the pause.
func visit(t *testing.T, from byte, theirs p2p.DefaultNodeInfo, at string, key ed25519.PrivKey, n int,
	pause time.Duration) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}} // an address begins few handshakes
	raw, err := d.Dial("tcp", at)
	require.NoError(t, err)
	defer raw.Close()
	secret, err := conn.MakeSecretConnection(raw, key)
	require.NoError(t, err)
	mine := theirs
	mine.DefaultNodeID, mine.ListenAddr = p2p.PubKeyToID(key.PubKey()), "127.0.0.1:1"
	w := protoio.NewDelimitedWriter(secret)
	_, err = w.WriteMsg(mine.ToProto())
	require.NoError(t, err)
	step := cmtcons.Message{Sum: &cmtcons.Message_NewRoundStep{NewRoundStep: &cmtcons.NewRoundStep{Height: 1, Step: 1}}}
	data, err := step.Marshal()
	require.NoError(t, err)
	for range n { // the node may have closed the connection: then nothing more arrives
		_, err = w.WriteMsg(&tmp2p.Packet{Sum: &tmp2p.Packet_PacketMsg{PacketMsg: &tmp2p.PacketMsg{ChannelID: 0x20, EOF: true,
			Data: data}}})
		if err != nil {
			break
		}
	}
	require.NoError(t, raw.SetReadDeadline(time.Now().Add(pause)))
	_, _ = io.Copy(io.Discard, raw)
}

// handed returns the bytes of messages that CometBFT has handed to reactors.
func handed(t *testing.T, registry *prometheus.Registry) (bytes float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "cometbft_p2p_message_receive_bytes_total" {
			require.Equal(t, dto.MetricType_COUNTER, f.GetType())
			for _, m := range f.GetMetric() {
				bytes += m.GetCounter().GetValue()
			}
		}
	}
	return bytes
}

// TestStrangerReachesNoReactor: no byte that strangers send after their handshakes reaches a
// reactor. The same messages from a node that the operator allows do.
func TestStrangerReachesNoReactor(t *testing.T) {
	stage.NotShort(t, "runs a node")
	registry, before := prometheus.NewRegistry(), prometheus.DefaultRegisterer
	prometheus.DefaultRegisterer = registry // go-kit's constructors take it
	defer func() { prometheus.DefaultRegisterer = before }()
	c, a := alone(t, 100_000)
	a.Worker.Enabled = false
	c.P2P.ListenAddress = "tcp://" + stage.Address(t)
	c.Instrumentation.Prometheus, c.Instrumentation.PrometheusListenAddr = true, "127.0.0.1:0"
	friend := ed25519.GenPrivKey()
	a.P2P.AllowedPeers = string(p2p.PubKeyToID(friend.PubKey()))
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Stop()) }()
	info, at := r.Node.NodeInfo().(p2p.DefaultNodeInfo), c.P2P.ListenAddress[len("tcp://"):]
	for i := range 20 {
		visit(t, byte(2+i), info, at, ed25519.GenPrivKey(), 100, time.Minute)
	}
	require.Zero(t, handed(t, registry), "bytes of strangers")
	require.Zero(t, r.Node.Switch().Peers().Size())
	go visit(t, 99, info, at, friend, 100, 10*time.Second)
	require.Eventually(t, func() bool { return handed(t, registry) > 0 }, time.Minute, 10*time.Millisecond)
}

// TestRelayHasNoKeys: a relay runs without keys of a participant and a validator, follows the chain
// of its genesis, and does not start with such a key.
func TestRelayHasNoKeys(t *testing.T) {
	c, _ := alone(t, 100)
	relay, a := home.DefaultConfig(), home.DefaultAppConfig()
	home.UseLoopback(relay)
	relay.RPC.ListenAddress, relay.P2P.ListenAddress = "", "tcp://"+stage.Address(t)
	a.Node.Role, a.Worker.Enabled = home.RoleRelay, false
	made, err := home.Init(filepath.Join(t.TempDir(), "relay"), relay, a)
	require.NoError(t, err)
	keys, err := filepath.Glob(filepath.Join(made.Dir, "*", "*key*"))
	require.NoError(t, err)
	require.Equal(t, []string{relay.NodeKeyFile()}, keys)
	genesis, err := os.ReadFile(c.GenesisFile())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(relay.GenesisFile(), genesis, 0o600))
	for range 2 { // the second start continues from the stored blocks
		r, err := Start(relay, a, log.NewNopLogger(), Hooks{})
		require.NoError(t, err)
		require.NoError(t, r.Stop())
	}
	require.NoError(t, home.ResetState(relay, a))
	for _, key := range []string{relay.PrivValidatorKeyFile(), home.InHome(relay, a.Worker.KeyFile)} {
		require.NoError(t, os.WriteFile(key, nil, 0o600))
		_, err := Start(relay, a, log.NewNopLogger(), Hooks{})
		require.ErrorContains(t, err, fmt.Sprintf("%s exists: a relay holds no key", key))
		require.NoError(t, os.Remove(key))
	}
}
