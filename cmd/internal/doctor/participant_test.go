package doctor

import (
	"bytes"
	"context"
	stded25519 "crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	cmtstore "github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/founding"
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

// TestTwinAtItsAddress: a home with another node id than the chain has of its participant is a fail where the node of
// that id runs at the registered address, because two processes then have the participant's keys.
func TestTwinAtItsAddress(t *testing.T) {
	h, _ := stopped(t)
	other := ed25519.GenPrivKey()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = conn.MakeSecretConnection(c, other)
			_ = c.Close()
		}
	}()
	id := string(p2p.PubKeyToID(other.PubKey()))
	saveState(t, h, func(s *app.State) {
		s.Participants[0].NodeIds, s.Participants[0].Address = []string{id}, id+"@"+l.Addr().String()
	})
	f := one(t, h, "keys")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the node "+id+"@"+l.Addr().String()+", which the chain has of participant 0, runs")
	require.NoError(t, l.Close())
	f = one(t, h, "keys")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Remedy, "spdl tx rotate --nodes")
	f = one(t, h, "peers")
	require.NotContains(t, f.Found, id, "peers are those of others")
}

// TestAfterTheLastRound: neither a stopped nor a running node of a finished epoch speaks of rounds to come.
func TestAfterTheLastRound(t *testing.T) {
	h, _ := stopped(t)
	require.Contains(t, one(t, h, "disk").Found, "are to come in 5 rounds")
	saveState(t, h, func(s *app.State) { s.Progress.Round = 5 })
	require.Contains(t, one(t, h, "disk").Found, "are to come in 0 rounds")
	h.Node = new(coretypes.ResultStatus)
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, map[string]any{"epoch": 0, "round": 5, "rounds": 5,
		"done": true, "contributions": []app.Contribution{{Participant: 0}}})})
	f := h.takesPart(context.Background(), &app.Participant{Active: true})
	require.Contains(t, f.Found, "epoch 0 has all its 5 rounds: its last gradient is in round 4")
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Rounds: 5})})
	f = h.takesPart(context.Background(), &app.Participant{Active: true})
	require.Contains(t, f.Found, "round 0 is open: no round is closed yet")
}

// TestSilentPeersHaveNames: a node that does not answer is named by its member.
func TestSilentPeersHaveNames(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(context.Background())
	require.NoError(t, err)
	require.Contains(t, one(t, h, "peers").Found, fmt.Sprintf("%q at 127.0.0.1:", all[1].Moniker))
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
	if runtime.GOOS == "linux" {
		held := filepath.Join(h.Config.DBDir(), "application.db", "LOCK")
		require.NoError(t, os.MkdirAll(filepath.Dir(held), 0o700))
		db, err := os.OpenFile(held, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		defer db.Close()
		require.NoError(t, syscall.Flock(int(db.Fd()), syscall.LOCK_EX))
		f = h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
		require.Equal(t, Fail, f.Level, f)
		require.Contains(t, f.Found, "no spdl worker of this home runs here")
		journal, err := worker.Lock(home.Journals(h.Config, h.App))
		require.NoError(t, err)
		require.Equal(t, Warn, h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true}).Level)
		require.NoError(t, journal.Close())
	}
	h.Node = &coretypes.ResultStatus{SyncInfo: coretypes.SyncInfo{CatchingUp: true, LatestBlockHeight: 7}}
	f = h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
	require.Equal(t, Skip, f.Level, f)
	require.Contains(t, f.Found, "the node fetches blocks, up to height 7")
	h.Node = new(coretypes.ResultStatus)
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Home: &query.Home{Resting: true,
		Worker: query.WorkerStopped}})})
	f = h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
	require.Equal(t, Fail, f.Level, f)
	require.Contains(t, f.Found, "the worker stopped: this home trains nothing")
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Home: &query.Home{
		Worker: query.WorkerFails}})})
	f = h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
	require.Equal(t, Warn, f.Level, f)
	require.Contains(t, f.Found, "its worker made no gradient when it tried last")
	const step = "its steps take 18s, and a round waits 20s"
	slow := &query.Home{Worker: query.WorkerSlow, Step: step}
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Home: slow})})
	f = h.takesPart(context.Background(), &app.Participant{Index: 3, Active: true})
	require.Equal(t, Warn, f.Level, f)
	require.Contains(t, f.Found, step)
	require.Contains(t, f.Remedy, "proposal.wait")
	require.Equal(t, []HomeLine{{"step", step, true}}, HomeLines(slow))
}

// TestRoom: of a full disk, and of one that may not be written, the remedy keeps the databases.
func TestRoom(t *testing.T) {
	for err, want := range map[error]string{
		&os.PathError{Op: "write", Path: "x.ldb", Err: syscall.ENOSPC}: "make room on the disk, and start the node",
		&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EROFS}:    "mount the file system to write, and start the node",
	} {
		require.Contains(t, room(err), want)
	}
	require.Empty(t, room(io.ErrUnexpectedEOF))
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

// TestSignerHome: in the home of a signer of both kinds of keys the checks of its keys, journal and last signature are
// made, and those of a node are skipped. Its keys are not the node's too.
func TestSignerHome(t *testing.T) {
	node, rpc := stopped(t)
	dir := filepath.Join(t.TempDir(), "vault")
	require.NoError(t, home.MoveToSigner(node.Config, node.App, home.NewKeystore(node.Config.RootDir, nil),
		home.SignerMove{Dir: dir, Signer: home.SignerConfig{Listen: "unix:///run/spdl/a.sock", Connect: "127.0.0.1:1",
			NodeID: string(node.nodeID()), Certificates: "config/signer", Rate: 1}, Address: "unix:///run/spdl/a.sock"}))
	h := Look(t.Context(), dir, rpc, nil)
	require.NoError(t, h.Invalid)
	h.System = healthy
	require.Contains(t, one(t, h, "validator").Found, "the signer has no key")
	for from, to := range map[string]string{node.Config.PrivValidatorKeyFile(): h.Config.PrivValidatorKeyFile(),
		node.Config.PrivValidatorStateFile(): h.Config.PrivValidatorStateFile()} {
		require.NoError(t, os.Rename(from, to))
	}
	require.Equal(t, Warn, one(t, h, "validator").Level, "no signature")
	require.NoError(t, os.WriteFile(h.Config.PrivValidatorStateFile(), []byte(`{"height":"7","round":0,"step":3}`), 0o600))
	for _, f := range Examine(t.Context(), h) {
		applies := slices.Contains(ofSigner, f.Check) && f.Check != "genesis of others" // without a witness
		require.Equal(t, applies, f.Level != Skip, f)
		require.NotEqual(t, Fail, f.Level, f)
	}
	node = Look(t.Context(), node.Config.RootDir, rpc, nil)
	f := Net(t.Context(), []Examined{{Dir: "node", Home: node}, {Dir: dir, Home: h}})
	require.Equal(t, "2 homes: 0 run, 1 stopped (node)", f.Found)
	f = Net(t.Context(), []Examined{{Dir: "copy", Home: h}, {Dir: dir, Home: h}})
	require.Contains(t, f.Found, "the same participant's or validator's key: copy and vault")

	journal := home.Journals(h.Config, h.App)
	require.NoError(t, os.Remove(journal))
	require.Equal(t, Warn, one(t, h, "journal").Level)
	require.NoError(t, os.Chmod(home.InHome(h.Config, h.App.Worker.KeyFile), 0o644))
	require.Contains(t, one(t, h, "keys").Found, "0644")
	require.NoError(t, os.Remove(home.InHome(h.Config, h.App.Worker.KeyFile)))
	require.Contains(t, one(t, h, "keys").Found, "participant_key.json is missing: the signer does not start")
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
	h.Node.SyncInfo.CatchingUp = true
	require.Equal(t, Skip, one(t, h, "validator").Level, "the blocks may be of before a rotation")

	all[0].ConsensusKey = mine
	for silent, want := range map[int64]Level{0: OK, query.MaxSilentBlocks: OK, query.MaxSilentBlocks + 1: Warn} {
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Height: 78,
			Home: &query.Home{BlocksSinceVote: silent}})})
		require.Equal(t, want, h.votes(context.Background(), &all[0]).Level)
	}
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, query.Status{Home: new(query.Home)})})
	require.Equal(t, Skip, h.votes(t.Context(), &all[0]).Level, "nobody votes on a chain without a block")
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
	require.Contains(t, f.Remedy, "add it to p2p.allowed_peers")
	require.Contains(t, f.Remedy, "closed by ccdd")
	require.Contains(t, f.Remedy, "another node with the id aabb, of a copy of this home")
}

// TestClosedStateSync: a node without a state, whose connections are closed, fails with the ids. Without closed
// connections the others' addresses are not known, and one with a peer may yet get its state.
func TestClosedStateSync(t *testing.T) {
	h, _ := stopped(t)
	h.Config.P2P.PersistentPeers = ""
	h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: "aabb"}}
	look := func(closedBy []string, peers string) Finding {
		h.Client = fakeNode(t, map[string]string{"net_info": peers,
			"abci_query /connections":  answer(t, query.Connections{ClosedBy: closedBy}),
			"abci_query /participants": `{"response":{"code":6,"codespace":"spdl","log":"this node has no state yet"}}`})
		return one(t, h, "peers")
	}
	const none = `{"peers":[]}`
	f := look([]string{"ccdd", "eeff"}, none)
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "no state yet and no peer: connections are closed right after the handshake")
	require.Contains(t, f.Remedy, "closed by ccdd, eeff")
	require.Contains(t, f.Remedy, "spdl tx rotate --nodes aabb")
	require.Equal(t, Skip, look(nil, none).Level)
	require.Equal(t, Skip, look([]string{"ccdd"}, `{"peers":[{"node_info":{"id":"cc","moniker":"c"}}]}`).Level)
}

// TestHeldNodeID: of a node that the members admit, closed connections mean that another node has its id.
func TestHeldNodeID(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(t.Context())
	require.NoError(t, err)
	all[1].NodeIds = []string{"aabb"}
	hint := func(id string) string {
		h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: p2p.ID(id)}}
		h.Client = fakeNode(t, map[string]string{
			"abci_query /connections":  answer(t, query.Connections{ClosedBy: []string{"ccdd"}}),
			"abci_query /participants": answer(t, all)})
		text, _ := h.closedHint(t.Context())
		return text
	}
	require.Contains(t, hint("aabb"), "the members admit the id of this node, aabb, and close its connections: another "+
		"node with this id is connected to them")
	require.Contains(t, hint("ddee"), "add it to p2p.allowed_peers")
}

// node answers the handshakes of probes with a new key. It returns the node's id and port.
func node(t *testing.T) (id string, port int) {
	t.Helper()
	key := ed25519.GenPrivKey()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.MakeSecretConnection(c, key)
		}
	}()
	return string(p2p.PubKeyToID(key.PubKey())), l.Addr().(*net.TCPAddr).Port
}

// TestOlderLookUp: a peer answers at its name and the node is not connected to it. A number, a
// connected peer, or a peer that closes the connections of the node, is no older look-up.
func TestOlderLookUp(t *testing.T) {
	id, port := node(t)
	const found = "the node runs with an older look-up: it is not connected to localhost:"
	const other, closed = `{"n_peers":"1","peers":[{"node_info":{"id":"cc","moniker":"c"}}]}`, "handshake by "
	for _, c := range []struct {
		host, peers string
		closedBy    []string
		says        string
	}{
		{"localhost", `{"peers":[]}`, nil, found},
		{"localhost", other, nil, found},
		{"127.0.0.1", `{"peers":[]}`, nil, ""},
		{"localhost", `{"n_peers":"1","peers":[{"node_info":{"id":"` + id + `","moniker":"b"}}]}`, nil, ""},
		{"localhost", other, []string{id}, closed + "localhost:"},
		{"127.0.0.1", other, []string{id}, closed + "127.0.0.1:"},
		{"localhost", other, []string{"dd"}, found},
	} {
		h, _ := stopped(t)
		h.Config.P2P.PersistentPeers = fmt.Sprintf("%s@%s:%d", id, c.host, port)
		h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: "aabb"}}
		h.Client = fakeNode(t, map[string]string{"net_info": c.peers,
			"abci_query": answer(t, query.Connections{ClosedBy: c.closedBy})})
		f := one(t, h, "peers")
		require.Equal(t, c.says == found, strings.Contains(f.Found, found), f.Found)
		require.Equal(t, strings.HasPrefix(c.says, closed), strings.Contains(f.Found, closed), f.Found)
		require.Contains(t, f.Found, c.says)
		switch {
		case c.says == found:
			require.NotEqual(t, OK, f.Level)
			require.Contains(t, f.Remedy, "its log has the resolver's error")
		case c.says != "":
			require.Equal(t, Warn, f.Level)
			require.Contains(t, f.Remedy, "to p2p.allowed_peers")
		}
	}
}

// writeIdentity writes the age key of a home, encrypted with a passphrase by a scrypt that costs little.
func writeIdentity(t *testing.T, file, passphrase string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	to, err := age.NewScryptRecipient(passphrase)
	require.NoError(t, err)
	to.SetWorkFactor(10)
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	require.NoError(t, err)
	_, err = io.WriteString(w, identity.String()+"\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o600))
}

// encryptKeys encrypts the keys of a home. enter makes the home's entry of a founding.
func encryptKeys(t *testing.T, h *Home, enter bool) (all []app.Participant) {
	t.Helper()
	all, err := h.participants(t.Context())
	require.NoError(t, err)
	if enter {
		keys, err := new(home.Keystore).LoadKeys(home.InHome(h.Config, h.App.Worker.KeyFile))
		require.NoError(t, err)
		dir := t.TempDir()
		who := app.Identity{PubKey: keys.Public(), VrfKey: keys.VRF.Public().(stded25519.PublicKey), Moniker: "a",
			NodeIDs: []string{string(h.nodeID())}, Address: string(h.nodeID()) + "@localhost:1"}
		proposal := founding.Proposal{ChainID: "ours", AppVersion: app.Version, Members: []string{"a", "b", "c"}}
		proposal.Params, err = preset.New(preset.Names()[0], 3)
		require.NoError(t, err)
		require.NoError(t, founding.Propose(dir, proposal))
		f, err := founding.Open(dir)
		require.NoError(t, err)
		_, err = founding.Member{Copies: founding.CopiesIn(h.Config.RootDir), Keys: keys}.Enter(f, who, nil, nil, nil)
		require.NoError(t, err)
	}
	files, err := home.KeyFiles(h.Config, h.App)
	require.NoError(t, err)
	const passphrase = "correct horse battery"
	writeIdentity(t, home.IdentityFile(h.Config.RootDir), passphrase)
	ask := func() (string, error) { return passphrase, nil }
	_, err = home.NewKeystore(h.Config.RootDir, ask).Encrypt(files, ask)
	require.NoError(t, err)
	require.Empty(t, h.nodeID())
	return all
}

// TestOwnNode: the home's node is none of its peers, although its key is encrypted: by the id of the running node, by
// the entry of the founding, or by the address.
func TestOwnNode(t *testing.T) {
	id, port := node(t)
	own, _ := node(t)
	for _, by := range []string{"running", "entry", "address"} {
		h, _ := stopped(t)
		mine := string(h.nodeID())
		h.App.P2P.Relays = fmt.Sprintf("%s@127.0.0.1:%d", id, port)
		all := encryptKeys(t, h, by == "entry")
		all[0].NodeIds, all[0].Address = []string{mine}, mine+"@localhost:1"
		all[1].NodeIds, all[1].Address = []string{own}, own+"@localhost:2"
		switch by {
		case "running":
			h.Node = &coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: p2p.ID(mine)}}
			h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, all)})
			h.Config.P2P.PersistentPeers = ""
		default:
			h.Config.P2P.PersistentPeers = all[0].Address + "," + all[1].Address
		}
		if by == "address" {
			h.Config.P2P.ExternalAddress = "tcp://localhost:1"
		}
		got, err := h.peerAddresses(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{all[1].Address, h.App.P2P.Relays}, got, by)
	}
}

// TestEncrypted: of a home with encrypted keys that was never started, the entry of the founding says which participant
// is the home's. Without it the checks say that the key is encrypted.
func TestEncrypted(t *testing.T) {
	h, _ := stopped(t)
	encryptKeys(t, h, true)
	require.Contains(t, one(t, h, "participant").Found, "participant 0 is active")
	require.Contains(t, one(t, h, "validator").Found, "key is encrypted")
	h, _ = stopped(t)
	encryptKeys(t, h, false)
	for _, check := range []string{"participant", "validator"} {
		f := one(t, h, check)
		require.Equal(t, Skip, f.Level)
		require.Contains(t, f.Found, "participant_key.json is encrypted")
		require.Contains(t, f.Found, "spdl keys show, which asks for the passphrase")
	}
}

// TestNoQuorum: the check fails where no block comes without a quorum, and names the validators that do not vote. It
// only warns while a node has just started, and where a quorum votes.
func TestNoQuorum(t *testing.T) {
	h, _ := stopped(t)
	all, err := h.participants(t.Context())
	require.NoError(t, err)
	h.Node = new(coretypes.ResultStatus)
	h.Node.SyncInfo.LatestBlockHeight, h.Node.SyncInfo.LatestBlockTime = 78, time.Now().Add(-time.Hour)
	key := func(i int) string {
		return fmt.Sprintf(`{"address":"%s","pub_key":{"type":"tendermint/PubKeyEd25519","value":%q}}`,
			ed25519.PubKey(all[i].ConsensusKey).Address(), base64.StdEncoding.EncodeToString(all[i].ConsensusKey))
	}
	peers := int64(0)
	look := func(since time.Duration, second string) Finding {
		h.Client = fakeNode(t, map[string]string{
			"abci_query /connections":  answer(t, query.Connections{PeerHeight: peers}),
			"abci_query /status":       answer(t, query.Status{}),
			"abci_query /participants": answer(t, all),
			"validators":               `{"total":"2","validators":[` + key(0) + `,` + key(1) + `]}`,
			"consensus_state": fmt.Sprintf(`{"round_state":{"height/round/step":"79/0/1","start_time":%q,`+
				`"height_vote_set":[{"prevotes":["Vote{0:AB}",%q]}]}}`, time.Now().Add(-since).Format(time.RFC3339Nano), second),
		})
		return one(t, h, "last block")
	}
	f := look(time.Hour, "nil-Vote")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, fmt.Sprintf("No quorum: 1 of 2 validators vote, not 1 %q", all[1].Moniker))
	h.Node.SyncInfo.LatestBlockTime = time.Now().Add(-30 * time.Second)
	f = look(30*time.Second, "nil-Vote")
	require.Equal(t, Fail, f.Level, "as the explorer and query status --watch say")
	require.Contains(t, f.Found, "; No quorum: 1 of 2 validators vote, not 1")
	require.Equal(t, Warn, look(time.Second, "nil-Vote").Level)
	require.Equal(t, Warn, look(time.Hour, "Vote{1:AB}").Level)
	peers = 78
	require.Equal(t, Fail, look(time.Hour, "nil-Vote").Level, "the peers wait for block 79, too")
	peers = 79
	f = look(time.Hour, "nil-Vote")
	require.Equal(t, OK, f.Level)
	require.Contains(t, f.Found, "The node fetches blocks: it lacks block 79, and its peers have block 79")
	peers = 0

	h.Node.SyncInfo.LatestBlockTime = time.Now().Add(-10 * time.Second)
	f = look(10*time.Second, "nil-Vote")
	require.Equal(t, Warn, f.Level, "a block took 0.06 s")
	require.Contains(t, f.Found, "No quorum: 1 of 2 validators vote")
	require.Equal(t, OK, look(10*time.Second, "Vote{1:AB}").Level)
	require.Equal(t, OK, look(time.Second, "nil-Vote").Level)

	h.Node.SyncInfo = coretypes.SyncInfo{} // a chain that never began
	f = look(75*time.Second, "nil-Vote")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the chain has no block yet; No quorum: 1 of 2 validators vote, not 1")
	require.Equal(t, OK, look(time.Second, "nil-Vote").Level)
}

// TestWitnessesAtOnce: the witnesses are asked at once, so those that hang cost the time of one.
func TestWitnessesAtOnce(t *testing.T) {
	h, _ := stopped(t)
	arrived, all := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-all // the answer to each waits for the request of the last
	}))
	t.Cleanup(s.Close)
	h.Witnesses = map[string]*client.Client{}
	const witnesses = 5
	for i := range witnesses {
		c, err := client.New(s.URL)
		require.NoError(t, err)
		h.Witnesses[strconv.Itoa(i)] = c
	}
	go func() {
		for range witnesses {
			<-arrived
		}
		close(all)
	}()
	begun := time.Now()
	require.Equal(t, Warn, one(t, h, "genesis of others").Level)
	require.Less(t, time.Since(begun), askTimeout, "one after the other, each would have waited for askTimeout")
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

// TestWeight: doctor knows the weights of the home's gradients where the rule gives weights, and of no other rule.
func TestWeight(t *testing.T) {
	h, _ := stopped(t)
	r := app.Record{Rule: "agnostic-mean", Contributions: []app.Contribution{{Participant: 0, Selected: true},
		{Participant: 3, Selected: true, Score: 1 << 17}, {Participant: 4}}} // of the equal share (1<<20)/3
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, r)})
	weight := func(index uint32, rounds uint64) chainview.Tally {
		newest, tally, err := h.gradients(t.Context(), index, query.Status{Round: rounds})
		require.NoError(t, err)
		require.Equal(t, index == 1, newest > rounds, "a round without a gradient of it")
		return tally
	}
	equal := float64(1 << 20 / 3)
	require.InDelta(t, 1-(1<<17)/equal, *weight(3, 30).MeanWeight(), 1e-12)
	require.Equal(t, weighed, weight(3, 30).Weighed)
	require.Equal(t, 7, weight(3, 7).Weighed)
	require.InDelta(t, 1, *weight(0, 30).MeanWeight(), 1e-12)
	require.InDelta(t, 0, *weight(4, 30).MeanWeight(), 1e-12)
	require.Nil(t, weight(1, 30).MeanWeight(), "no gradient")
	r.Rule = "multi-krum"
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, r)})
	require.Nil(t, weight(4, 30).MeanWeight(), "left out by a rule without weights")
}
