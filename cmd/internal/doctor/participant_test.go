package doctor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	cmtstore "github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// answer returns the RPC result of abci_query with a value.
func answer(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return fmt.Sprintf(`{"response":{"value":%q}}`, base64.StdEncoding.EncodeToString(data))
}

// TestParticipant: the check distinguishes an active participant, a participant that left, an
// interrupted rotation, and a key that the chain does not have.
func TestParticipant(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	require.Contains(t, one(t, h, "participant").Found, "participant 0 is active; the node is stopped")

	writeJournal(t, h, fmt.Sprintf(`{"chain_id":%q,"participant_id":%q,"signed":3}`+"\n", h.Genesis.ChainID,
		base64.StdEncoding.EncodeToString(all[1].Id)))
	require.Equal(t, OK, one(t, h, "journal").Level)
	f := one(t, h, "participant")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the home's key is of participant 0, and its journal of participant id")
	writeJournal(t, h, fmt.Sprintf(`{"chain_id":%q,"participant_id":%q,"signed":3}`+"\n", h.Genesis.ChainID,
		base64.StdEncoding.EncodeToString(all[0].Id)))
	require.Equal(t, OK, one(t, h, "participant").Level)

	h.Node = new(coretypes.ResultStatus)
	ask := func(change func(*app.Participant)) Finding {
		p := all[0]
		change(&p)
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, []app.Participant{p}),
			"block_search": `{"blocks":[{"block":{"header":{"height":"77"}}}],"total_count":"1"}`})
		return one(t, h, "participant")
	}
	f = ask(func(p *app.Participant) { p.Active = false })
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "has left or was removed at height 77")
	h.Node.SyncInfo.LatestBlockHeight, h.Node.SyncInfo.LatestBlockTime = 78, time.Now().Add(-time.Hour)
	f = one(t, h, "last block")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "participant 0 has left or was removed at height 77: the members' nodes send this one "+
		"no blocks")
	require.NotContains(t, f.Remedy, "two thirds")

	rotate := func(p *app.Participant) {
		p.FormerKeys, p.PubKey = []app.FormerKey{{PubKey: p.PubKey}}, make([]byte, 32)
	}
	f = ask(rotate)
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the home has the former key")
	require.Contains(t, f.Remedy, "restore a backup from after the rotation")
	require.Contains(t, f.Remedy, "spdl tx remove, and join with a new home")
	require.NoError(t, new(home.Keystore).WriteKeys(home.NextKeyFile(home.InHome(h.Config, h.App.Worker.KeyFile)),
		home.GenerateKeys()))
	require.Contains(t, ask(rotate).Remedy, "run spdl tx rotate again")

	f = ask(func(p *app.Participant) { p.PubKey = make([]byte, 32) })
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "no participant has the home's key")
}

// TestConvicted: an offence of the home's participant fails, with what the chain says, until a restore settles it.
// An offence of another participant does not.
func TestConvicted(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	h.Node = new(coretypes.ResultStatus)
	check := func(offender uint32, settled uint64) Finding {
		all[0].SettledHeight = settled
		h.Client = fakeNode(t, map[string]string{
			"abci_query":               answer(t, query.Status{}),
			"abci_query /participants": answer(t, all),
			"abci_query /evidence": answer(t, []app.Offence{
				{Participant: offender, Misbehavior: 1, Voted: 664, Height: 665}}),
		})
		return one(t, h, "participant")
	}
	f := check(0, 0)
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "convicted: duplicate vote at height 664, proven at height 665; its reputation is 0")
	require.Contains(t, f.Remedy, "spdl tx restore")
	require.NotContains(t, check(0, 665).Found, "convicted")
	require.NotContains(t, check(1, 0).Found, "convicted")
}

// TestTakesPart: the check finds the last round with the participant's gradient, and warns if an
// active participant has sent none in silentRounds rounds, or is resting.
func TestTakesPart(t *testing.T) {
	h, _ := stopped(t)
	h.Node = new(coretypes.ResultStatus)
	for _, c := range []struct {
		participant uint32
		level       Level
		says        string
	}{{3, OK, "its last gradient is in round 4, 1 round(s) ago"}, {2, Warn, "no gradient of it in the last 5 rounds"}} {
		// The fake node gives one answer to all queries: it is both a status and a round.
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, map[string]any{"epoch": 0, "round": 5,
			"contributions": []app.Contribution{{Participant: 3}}})})
		f := h.takesPart(context.Background(), &app.Participant{Index: c.participant, Active: true})
		require.Equal(t, c.level, f.Level, f)
		require.Contains(t, f.Found, c.says)
	}
	next := uint64(16)
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Home: &query.Home{Resting: true,
		RestEnds: &next}})})
	f := h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
	require.Equal(t, Warn, f.Level, f)
	require.Contains(t, f.Found, "it was late")
	require.Contains(t, f.Found, "from round 16 on they wait again")
}

// TestAlone: a running node without peers fails if the chain has other validators.
func TestAlone(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	h.Node = new(coretypes.ResultStatus)
	for n, level := range map[int]Level{0: Skip, 2: Fail} {
		h.Config.P2P.PersistentPeers = ""
		for i := range all {
			all[i].Address = ""
		}
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, all[:n]), "net_info": `{"peers":[]}`})
		require.Equal(t, level, one(t, h, "peers").Level)
	}
}

// TestValidatorSigner: a running node whose validator's signer is not connected fails, and the remedy says what the
// signer needs.
func TestValidatorSigner(t *testing.T) {
	h, _ := stopped(t)
	require.Equal(t, Skip, one(t, h, "validator signer").Level)
	h.Config.PrivValidatorListenAddr = "tcp://127.0.0.1:26659"
	require.Equal(t, Skip, one(t, h, "validator signer").Level)
	h.Node = new(coretypes.ResultStatus)
	for is, want := range map[string]Level{query.SignerAnswers: OK, query.SignerAway: Fail, "": Warn} {
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{
			Home: &query.Home{ValidatorSigner: is}})})
		f := one(t, h, "validator signer")
		require.Equal(t, want, f.Level)
		require.Contains(t, f.Found, "tcp://127.0.0.1:26659")
	}
}

// TestValidator: a validator key that is not the chain's fails, whether the node runs or not, and so does a validator
// without recent votes. Such a key does not make the home's participant another validator of the chain.
func TestValidator(t *testing.T) {
	h, _ := stopped(t)
	require.Equal(t, OK, one(t, h, "validator").Level)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	mine, other := ed25519.PubKey(all[0].ConsensusKey), ed25519.GenPrivKey().PubKey()
	all[0].ConsensusKey = other.Bytes()
	h.Genesis.AppState = nil // the running node has the participants
	h.Node = new(coretypes.ResultStatus)
	h.Node.ValidatorInfo.PubKey = mine
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, all[:1]), "net_info": `{"peers":[]}`})
	f := one(t, h, "validator")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the chain's validator of participant 0 is "+other.Address().String())
	require.Contains(t, f.Found, "the key here is of "+mine.Address().String())
	require.False(t, h.hasOtherValidators(context.Background()))

	all[0].ConsensusKey = mine
	for silent, want := range map[int64]Level{0: OK, query.MaxSilentBlocks: OK, query.MaxSilentBlocks + 1: Warn} {
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{
			Home: &query.Home{BlocksSinceVote: silent}})})
		require.Equal(t, want, h.votes(context.Background(), &all[0]).Level)
	}
}

// TestValidatorState: a stopped node's validator state that is missing fails, and one that is older than the
// validator's last vote in the block store warns.
func TestValidatorState(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	db, err := home.OpenDB(h.Config, "blockstore")
	require.NoError(t, err)
	blocks := cmtstore.NewBlockStore(db)
	at := func(height int64, signer []byte) *types.Commit {
		hash := bytes.Repeat([]byte{1}, 32)
		id := types.BlockID{Hash: hash, PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash}}
		return &types.Commit{Height: height, BlockID: id, Signatures: []types.CommitSig{{BlockIDFlag: types.BlockIDFlagCommit,
			ValidatorAddress: signer, Timestamp: time.Unix(1, 0), Signature: []byte{1}}}}
	}
	for height, signer := range [][]byte{ed25519.PubKey(all[0].ConsensusKey).Address(), make([]byte, 20)} {
		block := types.MakeBlock(int64(height+1), nil, at(int64(height), make([]byte, 20)), nil)
		block.ProposerAddress, block.ValidatorsHash = make([]byte, 20), make([]byte, 32)
		parts, err := block.MakePartSet(types.BlockPartSizeBytes)
		require.NoError(t, err)
		blocks.SaveBlock(block, parts, at(int64(height+1), signer))
	}
	require.NoError(t, db.Close())
	f := one(t, h, "validator")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "ends at height 0, and the validator's vote at height 1 is in the block store")

	file := h.Config.PrivValidatorStateFile()
	require.NoError(t, os.WriteFile(file, []byte(`{"height":"1","round":0,"step":3}`), 0o600))
	require.Equal(t, OK, one(t, h, "validator").Level)
	require.NoError(t, os.Remove(file))
	f = one(t, h, "validator")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "is missing: the node does not start")

	require.NoError(t, os.RemoveAll(h.Config.DBDir()))
	f = one(t, h, "validator")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "once started, the validator signs nothing until the chain has decided 2 blocks")
	require.NoError(t, home.RestoreData(h.Config, nopLogger()))
	f = one(t, h, "validator")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "signs nothing until the chain has decided 2 blocks without it")
	require.Contains(t, f.Remedy, home.SignPauseFile(h.Config))
	require.NoError(t, os.WriteFile(home.SignPauseFile(h.Config), []byte("{"), 0o600))
	require.Equal(t, Fail, one(t, h, "validator").Level)
	require.NoError(t, home.EndSignPause(h.Config))
	require.Equal(t, OK, one(t, h, "validator").Level)
}

// TestClosedConnections: a node whose connections are closed right after the handshake, and that has no peer, may
// not be admitted, and the remedy names its id and the setting.
func TestClosedConnections(t *testing.T) {
	h, _ := stopped(t)
	h.Config.P2P.PersistentPeers = strings.Repeat("ab", 20) + "@127.0.0.1:1"
	h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: "aabb"}}
	h.Client = fakeNode(t, map[string]string{"net_info": `{"peers":[]}`,
		"abci_query": answer(t, query.Connections{ClosedBy: []string{"ccdd"}})})
	f := one(t, h, "peers")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "connections are closed right after the handshake")
	require.Contains(t, f.Remedy, "add aabb to p2p.allowed_peers")
	require.Contains(t, f.Remedy, "closed by ccdd")
}

// TestOlderLookUp: a peer answers at its name and the node is not connected to it. A number, or a
// connected peer, is no older look-up.
func TestOlderLookUp(t *testing.T) {
	key := ed25519.GenPrivKey()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.MakeSecretConnection(c, key)
		}
	}()
	id, port := string(p2p.PubKeyToID(key.PubKey())), l.Addr().(*net.TCPAddr).Port
	const found = "the node runs with an older look-up: it is not connected to localhost:"
	for _, c := range []struct {
		host, peers string
		stale       bool
	}{
		{"localhost", `{"peers":[]}`, true},
		{"127.0.0.1", `{"peers":[]}`, false},
		{"localhost", `{"n_peers":"1","peers":[{"node_info":{"id":"` + id + `","moniker":"b"}}]}`, false},
	} {
		h, _ := stopped(t)
		h.Config.P2P.PersistentPeers = fmt.Sprintf("%s@%s:%d", id, c.host, port)
		h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: "aabb"}}
		h.Client = fakeNode(t, map[string]string{"net_info": c.peers, "abci_query": answer(t, query.Connections{})})
		f := one(t, h, "peers")
		require.Equal(t, c.stale, strings.Contains(f.Found, found), f.Found)
		if c.stale {
			require.NotEqual(t, OK, f.Level)
			require.Contains(t, f.Remedy, "its log has the resolver's error")
		}
	}
}

// TestBlockGap: a node whose peers have dropped its next block cannot catch up, also before its first block, and the
// remedy is state sync.
func TestBlockGap(t *testing.T) {
	h, _ := stopped(t)
	h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: "aabb"}}
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Connections{MissingBlock: 1, OldestBlock: 42})})
	f := one(t, h, "last block")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "no peer has block 1, which this node needs next: the oldest that they keep is 42")
	require.Contains(t, f.Remedy, "spdl reset-state --yes, then CMT_STATESYNC_ENABLE=true")
}
