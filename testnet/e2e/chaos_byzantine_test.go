//go:build e2e

package e2e

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// f participants, or one validator, do what the protocol forbids. Nothing is healed: the net has to
// go on beside them.
var byzantineCells = []cell{
	{name: "silent", attack: "silent", do: misbehave},
	{name: "seldom", attack: "seldom", do: misbehave},
	{name: "mute-leader", attack: "mute-leader", do: misbehave},
	{name: "wrong-aggregate", attack: "wrong-aggregate", do: misbehave},
	{name: "withheld-output", attack: "withheld-output", do: misbehave},
	{name: "sign-flip", attack: "sign-flip", do: misbehave},
	{name: "equivocate", attack: "equivocate", guilty: true, do: misbehave},
	{name: "commit-withhold", attack: "commit-withhold", reveal: true, do: misbehave},
	{name: "commit-late", attack: "commit-late", reveal: true, do: misbehave},
	{name: "commit-twice", attack: "commit-twice", reveal: true, guilty: true, do: misbehave},
	{name: "split-gradients", attack: "silent", guilty: true, do: splitGradients},
	{name: "double-votes", guilty: true, do: twin},
	{name: "evidence-flood", guilty: true, do: floodEvidence},
}

func misbehave(*chaos) { time.Sleep(8 * time.Second) }

// splitGradients signs two gradients of each struck participant for one round, and sends each to
// another half of the nodes, until there is a proof. Their own workers are silent.
func splitGradients(c *chaos) {
	for _, i := range c.struck {
		keys, err := new(home.Keystore).LoadKeys(filepath.Join(c.Net.Nodes[i].Home, "config", "participant_key.json"))
		require.NoError(c, err)
		for start := time.Now(); !c.convicted(i); {
			require.Less(c, time.Since(start), patience, "nobody proves that participant %d sent two gradients", i)
			s, err := c.clients[0].Status(context.Background())
			require.NoError(c, err)
			seed, err := hex.DecodeString(s.Seed)
			require.NoError(c, err)
			g := tx.Gradient{
				Epoch: s.Epoch, Round: s.Round, Participant: uint32(i), Payload: c.payload(s.Round - 1),
				VrfProof: leader.Prove(keys.VRF, leader.Input(s.ChainID, s.Epoch, s.Round, seed)),
			}
			for k, client := range c.clients {
				other := g
				other.Payload = append([]byte(nil), g.Payload...)
				if k%2 == 1 {
					other.Payload[0] ^= 1
				}
				t, err := tx.Sign(s.ChainID, &other, keys.Signing)
				require.NoError(c, err)
				_, _ = client.RPC().BroadcastTxSync(context.Background(), t.Raw) // refused where it is late
			}
		}
	}
}

// convicted reports whether an offence of a participant is on file at the first node.
func (c *chaos) convicted(i int) bool {
	for _, o := range c.offences(0) {
		if o.Participant == uint32(i) {
			return true
		}
	}
	return false
}

// payload returns somebody's gradient of a closed round, whose norm is an honest one.
func (c *chaos) payload(round uint64) []byte {
	c.Helper()
	height := int64(c.record(0, round).Height)
	b, err := c.clients[0].RPC().Block(context.Background(), &height)
	require.NoError(c, err)
	for _, raw := range b.Block.Txs {
		t, err := tx.Decode(raw)
		require.NoError(c, err)
		if t.Gradient != nil {
			return t.Gradient.Payload
		}
	}
	c.Fatalf("no gradient in the block of round %d", round)
	return nil
}

// twin runs the validator of a struck node twice: a copy of its home, with another node key and
// without a worker, signs proposals and votes of its own until there is a proof.
func twin(c *chaos) {
	i := c.struck[0]
	require.NoError(c, c.Kill(i))
	home := filepath.Join(c.TempDir(), "twin")
	require.NoError(c, os.CopyFS(home, os.DirFS(c.Net.Nodes[i].Home)))
	require.NoError(c, os.Remove(filepath.Join(home, "config", "node_key.json")))
	_, err := p2p.LoadOrGenNodeKey(filepath.Join(home, "config", "node_key.json"))
	require.NoError(c, err)
	require.NoError(c, c.Start(i))
	stop := c.beside(home, "SPDL_WORKER_ENABLED=false", "CMT_RPC_LADDR=tcp://"+stage.Address(c.T))
	defer stop()
	c.eventually(func() bool { return c.convicted(i) }, "nobody proves that validator %d voted twice", i)
}

// allowed is how long a running node takes to read a changed list of allowed peers, and a second.
const allowed = 6 * time.Second

// beside starts a node that is none of the net's, with the net's nodes as its peers. All of them
// let it in before it dials: the first peer of a state sync would otherwise be its only one.
func (c *chaos) beside(home string, env ...string) (stop func()) {
	c.Helper()
	var peers []string
	for _, x := range c.Net.Nodes {
		key, err := p2p.LoadNodeKey(filepath.Join(x.Home, "config", "node_key.json"))
		require.NoError(c, err)
		peers = append(peers, fmt.Sprintf("%s@%s", key.ID(), x.P2P))
	}
	allow(c.T, c.Net, home)
	time.Sleep(allowed)
	cmd := exec.Command(binary, "start", "--home", home)
	cmd.Env = append(os.Environ(), "CMT_P2P_LADDR=tcp://"+stage.Address(c.T), "CMT_P2P_PERSISTENT_PEERS="+
		strings.Join(peers, ","),
		"CMT_P2P_PEX=false", "CMT_P2P_ADDR_BOOK_STRICT=false", "CMT_P2P_ALLOW_DUPLICATE_IP=true")
	cmd.Env = append(cmd.Env, env...)
	log, err := os.Create(filepath.Join(c.TempDir(), "beside.log"))
	require.NoError(c, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(c, cmd.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			log.Close()
		}
	}
	c.Cleanup(func() {
		stop()
		if out, _ := os.ReadFile(log.Name()); c.T.Failed() {
			c.Logf("beside: ...%s", out[max(0, len(out)-3000):])
		}
	})
	return stop
}

// floodEvidence sends thousands of proofs of a struck validator against itself, one for each round
// of consensus that never was, to all nodes.
func floodEvidence(c *chaos) {
	const pieces = 2000
	i := c.struck[0]
	home := filepath.Join(c.Net.Nodes[i].Home)
	key := privval.LoadFilePVEmptyState(filepath.Join(home, "config", "priv_validator_key.json"), "").Key.PrivKey
	ctx := context.Background()
	status, err := c.clients[0].RPC().Status(ctx)
	require.NoError(c, err)
	height := status.SyncInfo.LatestBlockHeight - 1
	header, err := c.clients[0].RPC().Header(ctx, &height)
	require.NoError(c, err)
	validators, err := c.clients[0].RPC().Validators(ctx, &height, nil, nil)
	require.NoError(c, err)
	set := types.NewValidatorSet(validators.Validators)
	index, _ := set.GetByAddress(key.PubKey().Address())
	vote := func(round int32, block byte) *types.Vote {
		id := types.BlockID{Hash: make([]byte, 32), PartSetHeader: types.PartSetHeader{Total: 1, Hash: make([]byte, 32)}}
		id.Hash[0] = block
		v := &types.Vote{
			Type: cmtproto.PrecommitType, Height: height, Round: round, BlockID: id, Timestamp: header.Header.Time,
			ValidatorAddress: key.PubKey().Address(), ValidatorIndex: index,
		}
		v.Signature, err = key.Sign(types.VoteSignBytes(c.Net.Manifest.ChainID, v.ToProto()))
		require.NoError(c, err)
		return v
	}
	sent, taken := 0, 0
	for start := time.Now(); sent < pieces && time.Since(start) < 20*time.Second; sent++ {
		e, err := types.NewDuplicateVoteEvidence(vote(int32(sent), 1), vote(int32(sent), 2), header.Header.Time, set)
		require.NoError(c, err)
		if _, err := c.clients[sent%c.n].RPC().BroadcastEvidence(ctx, e); err == nil {
			taken++
		}
	}
	c.note("%d of %d proofs taken", taken, sent)
}
