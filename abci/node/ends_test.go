package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	sm "github.com/cometbft/cometbft/state"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
)

// run starts the node of a home, waits until the open round has at least a given number, and stops
// it.
func run(t *testing.T, c *config.Config, a home.AppConfig, round uint64) {
	t.Helper()
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, at := r.Application.Pending(); return at >= round }, 2*time.Minute,
		time.Millisecond)
	require.NoError(t, r.Stop())
	require.Empty(t, r.Failed())
}

// TestCaughtUp: a node in consensus that is behind its peers, as after state sync, does not say that it has caught up.
func TestCaughtUp(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	started, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	var out bytes.Buffer
	r := &Running{Application: started.Application, Node: started.Node, votes: started.votes,
		log: log.NewTMLogger(log.NewSyncWriter(&out))}
	asked, left := 0, []int64{520, 2, 1}
	r.logCaughtUp(t.Context(), time.Now(), func() int64 {
		require.Empty(t, out.String(), "%d blocks behind", left[asked])
		asked++
		return left[asked-1]
	})
	require.Equal(t, len(left), asked)
	require.Contains(t, out.String(), "the node has caught up")
	out.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.logCaughtUp(ctx, time.Now(), func() int64 { return 2 })
	require.Empty(t, out.String())
	require.NoError(t, started.Stop())
}

// TestDamagedJournalLeavesTheValidatorAlone: the validator goes on, and the log names the remedy.
func TestDamagedJournalLeavesTheValidatorAlone(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	require.NoError(t, os.WriteFile(home.InHome(c, a.Worker.Journal), []byte("{"), 0o600))
	var out bytes.Buffer
	r, err := Start(c, a, log.NewTMLogger(log.NewSyncWriter(&out)), Hooks{})
	require.NoError(t, err)
	<-r.worker
	r.worker <- nil
	height := r.Node.BlockStore().Height()
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() > height }, time.Minute, time.Millisecond)
	require.Empty(t, r.Failed())
	require.NoError(t, r.Stop())
	require.Contains(t, out.String(), "the validator goes on without it")
	require.Contains(t, out.String(), "move the file away")
}

// TestMissingDataLeaveTheValidatorAlone: the validator goes on, and log and status say that the
// worker has stopped.
func TestMissingDataLeaveTheValidatorAlone(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	a.Worker.Data = filepath.Join(t.TempDir(), "unmounted")
	var out bytes.Buffer
	r, err := Start(c, a, log.NewTMLogger(log.NewSyncWriter(&out)), Hooks{})
	require.NoError(t, err)
	require.ErrorIs(t, <-r.worker, worker.ErrData)
	r.worker <- nil
	height := r.Node.BlockStore().Height()
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() > height }, time.Minute, time.Millisecond)
	require.Empty(t, r.Failed())
	answer, err := r.Application.Query(context.Background(), &abcitypes.RequestQuery{Path: "/status"})
	require.NoError(t, err)
	require.Contains(t, string(answer.Value), `"worker":"stopped"`)
	require.NoError(t, r.Stop())
	require.Contains(t, out.String(), "the validator goes on without it")
	require.Contains(t, out.String(), a.Worker.Data)
}

// TestChangedGenesis: before the first block, a genesis that was changed after the founding is named as such.
func TestChangedGenesis(t *testing.T) {
	c, a := alone(t, 5)
	doc, err := home.ReadGenesis(c)
	require.NoError(t, err)
	doc.ChainID = "other"
	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, app.ErrGenesis)
	require.ErrorContains(t, err, c.GenesisFile()+" was changed after the founding: take the file of another member")
	require.NotContains(t, err.Error(), "handshake")
}

// TestDivergenceIsRemembered: CometBFT's error about a block that more than two thirds signed ends
// the node with the remedy, and its home is rejected until it is reset.
func TestDivergenceIsRemembered(t *testing.T) {
	for _, said := range []struct{ message, reason string }{
		{saidInvalid, "wrong Block.Header.AppHash.  Expected 00, got 11"},
		{saidHalted, "+2/3 committed an invalid block: wrong Block.Header.AppHash.  Expected 00, got 11"},
	} {
		c, a := alone(t, 5)
		r := &Running{upgradeHalt: newUpgradeHalt(), failures: make(chan error, 2), dataDir: c.DBDir()}
		logger := logMonitor{log.NewNopLogger(), r.onError, nil}.With("module", "consensus")
		logger.Error("Error in validation", "err", "wrong signature")
		logger.Error("CONSENSUS FAILURE!!!", "err", "something else")
		require.Empty(t, r.failures)
		require.NoError(t, checkDiverged(c))
		logger.Error(said.message, "height", 7, "err", said.reason)
		require.ErrorIs(t, <-r.Failed(), errDiverged)
		for range 2 {
			_, err := Start(c, a, log.NewNopLogger(), Hooks{})
			require.ErrorIs(t, err, errDiverged)
			require.ErrorContains(t, err, "wrong Block.Header.AppHash.  Expected 00, got 11")
			require.ErrorContains(t, err, "spdl reset-state --yes")
		}
		require.NoError(t, home.ResetState(c, a))
		require.NoError(t, checkDiverged(c))
	}
}

// TestHaltSaysWhy: the error of a halted node has CometBFT's reason, and for a clock that is behind
// also the remedy.
func TestHaltSaysWhy(t *testing.T) {
	r := &Running{upgradeHalt: newUpgradeHalt(), failures: make(chan error, 2)}
	r.onError(saidHalted, "+2/3 committed an invalid block: block time x is too far in the future (wall clock y + "+
		"tolerance 1m0s)")
	ended := make(chan struct{})
	close(ended)
	r.watch(context.Background(), waiter(ended))
	err := <-r.Failed()
	require.ErrorIs(t, err, errHalted)
	require.ErrorContains(t, err, "too far in the future")
	require.ErrorContains(t, err, "synchronise it (NTP)")
}

type waiter chan struct{}

func (w waiter) Wait() { <-w }

// TestOtherVersionIsRefused: a chain that another state machine version has executed is rejected at
// the start and left unchanged.
func TestOtherVersionIsRefused(t *testing.T) {
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	run(t, c, a, 2)
	db, err := dbm.NewDB("state", dbm.BackendType(c.DBBackend), c.DBDir())
	require.NoError(t, err)
	store := sm.NewStore(db, sm.StoreOptions{})
	s, err := store.Load()
	require.NoError(t, err)
	require.Equal(t, app.Version, s.Version.Consensus.App)
	s.Version.Consensus.App++
	require.NoError(t, store.Save(s))
	require.NoError(t, db.Close())
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, ErrVersion)
	require.ErrorContains(t, err, "start it with a release of version")
}

// TestOtherGenesisIsRefused: a new node does not begin a chain of another version either.
func TestOtherGenesisIsRefused(t *testing.T) {
	c, a := alone(t, 5)
	data, err := os.ReadFile(c.GenesisFile())
	require.NoError(t, err)
	var doc map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // costs of the ledger are no float64
	require.NoError(t, decoder.Decode(&doc))
	doc["consensus_params"].(map[string]any)["version"].(map[string]any)["app"] = "77"
	data, err = json.Marshal(doc)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.GenesisFile(), data, 0o600))
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "version.app is 77")
}

// TestGenesisThatNeverBegan: a home whose chain has no block begins the chain of another genesis, unless its
// participant has signed something.
func TestGenesisThatNeverBegan(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	doc, err := home.ReadGenesis(c)
	require.NoError(t, err)
	right, err := app.DecodeGenesis(doc.AppState)
	require.NoError(t, err)
	wrong := right
	wrong.Params, err = preset.New("pixels", 2)
	require.NoError(t, err)
	// The absent validator has the lower address, and so the first turn to propose: this one votes for
	// nil, where a vote for its own block would be the last that it can sign in round 0 of the right chain.
	own, key := cmted25519.PubKey(right.Participants[0].ConsensusKey).Address(), 1
	for bytes.Compare(cmted25519.PubKey(apptest.ConsensusKey(key)).Address(), own) > 0 {
		key++
	}
	absent := app.NewParticipant(1, apptest.Identity(key), wrong.Params.Reputation)
	absent.VrfProof = app.ProveGenesis("alone", wrong.Seed, apptest.VRFKey(key))
	wrong.Participants = append(slices.Clone(right.Participants), absent)
	other, err := home.NewGenesis("alone", time.Now(), wrong)
	require.NoError(t, err)
	require.NoError(t, other.SaveAs(c.GenesisFile()))
	a.Worker.Enabled = false
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // it has voted
		data, err := os.ReadFile(c.PrivValidatorStateFile())
		return err == nil && bytes.Contains(data, []byte(`"height": "1"`))
	}, time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())

	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	journal := home.Journals(c, a)
	before, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, []byte(`{"chain_id":"alone","signed":1}`+"\n"), 0o600))
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, databases.ErrOtherGenesis)
	require.ErrorContains(t, err, journal+` has entries for chain "alone"`)

	require.NoError(t, os.WriteFile(journal, before, 0o600))
	a.Worker.Enabled = true
	run(t, c, a, 2)
}

// TestReplacedGenesisIsRefused: a home whose chain has begun rejects another genesis.
func TestReplacedGenesisIsRefused(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	first, err := os.ReadFile(c.GenesisFile())
	require.NoError(t, err)
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.NoError(t, r.Stop())
	run(t, c, a, 1)

	require.NoError(t, os.WriteFile(c.GenesisFile(), bytes.Replace(first, []byte(`"chain_id"`), []byte(`  "chain_id"`), 1),
		0o600))
	r, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err, "white space does not count")
	require.NoError(t, r.Stop())

	doc, err := home.ReadGenesis(c)
	require.NoError(t, err)
	doc.ChainID = "another"
	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, databases.ErrOtherGenesis)
	require.ErrorContains(t, err, "chain another")
	require.ErrorContains(t, err, "the data have block")
	require.ErrorContains(t, err, "put the former file back, and nothing else. Only if this home leaves that chain")
}

// TestDatabasesThatDisagree: if the block store, the state database and the application are at
// different heights, the start fails with an error that names the remedy, and without a panic.
func TestDatabasesThatDisagree(t *testing.T) {
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	run(t, c, a, 2)
	early := t.TempDir()
	require.NoError(t, os.CopyFS(early, os.DirFS(c.DBDir())))
	run(t, c, a, 8)
	late := t.TempDir()
	require.NoError(t, os.CopyFS(late, os.DirFS(c.DBDir())))
	for _, name := range []string{"state.db", "blockstore.db"} {
		require.NoError(t, os.RemoveAll(filepath.Join(c.DBDir(), name)))
		require.NoError(t, os.CopyFS(filepath.Join(c.DBDir(), name), os.DirFS(filepath.Join(early, name))))
		_, err := databases.CheckStopped(c)
		require.ErrorIs(t, err, databases.ErrDisagree, name)
		_, err = Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorIs(t, err, databases.ErrDisagree, name)
		require.ErrorContains(t, err, "spdl reset-state --yes")
		require.NoError(t, os.RemoveAll(filepath.Join(c.DBDir(), name)))
		require.NoError(t, os.CopyFS(filepath.Join(c.DBDir(), name), os.DirFS(filepath.Join(late, name))))
	}
	height, err := databases.CheckStopped(c)
	require.NoError(t, err)
	require.GreaterOrEqual(t, height, int64(8))
	run(t, c, a, 9)
	_, err = databases.CheckStopped(c)
	require.NoError(t, err)

	// A state database that lost the validators of the last height.
	db, err := config.DefaultDBProvider(&config.DBContext{ID: "state", Config: c})
	require.NoError(t, err)
	s, err := sm.NewStore(db, sm.StoreOptions{}).Load()
	require.NoError(t, err)
	require.NoError(t, db.Delete([]byte("validatorsKey:"+strconv.FormatInt(s.LastBlockHeight, 10))))
	require.NoError(t, db.Close())
	_, err = databases.CheckStopped(c)
	require.ErrorIs(t, err, databases.ErrDisagree)
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, databases.ErrDisagree)
	require.ErrorContains(t, err, "spdl reset-state --yes")

	// A state database that was cut at its end, with the error text of CometBFT's replay.
	_, err = databases.Build(c, func() (*cmtnode.Node, error) {
		return nil, errors.New("error during handshake: error on replay: expected height 12 but last stored abci " +
			"responses was at height 9")
	})
	require.ErrorIs(t, err, databases.ErrDisagree)
	other := errors.New("another reason")
	_, err = databases.Build(c, func() (*cmtnode.Node, error) { return nil, other })
	require.Equal(t, other, err)
}

// restored is an application in a state sync.
type restored struct {
	offered, taken time.Time
	done           atomic.Bool
}

func (r *restored) times() (time.Time, time.Time, bool) { return r.offered, r.taken, r.done.Load() }

// TestStateSyncEnds: a state sync without progress ends with an error that says what to check. A
// state sync that makes progress or has succeeded is not ended.
func TestStateSyncEnds(t *testing.T) {
	ctx := context.Background()
	quick := syncTimeouts{offer: 20 * time.Millisecond, chunk: 40 * time.Millisecond, interval: time.Millisecond}
	err := watchSync(ctx, (&restored{}).times, quick)
	require.ErrorIs(t, err, errSync)
	require.ErrorContains(t, err, "no peer has offered a snapshot")
	require.ErrorContains(t, err, "snapshot.interval in app.toml")
	err = watchSync(ctx, (&restored{offered: time.Now()}).times, quick)
	require.ErrorIs(t, err, errSync)
	require.ErrorContains(t, err, "none has sent a right chunk")
	busy := &restored{offered: time.Now(), taken: time.Now().Add(time.Hour)}
	time.AfterFunc(100*time.Millisecond, func() { busy.done.Store(true) })
	require.NoError(t, watchSync(ctx, busy.times, quick))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.NoError(t, watchSync(ended, (&restored{}).times, quick))

	r := &Running{upgradeHalt: newUpgradeHalt(), failures: make(chan error, 2)}
	logMonitor{log.NewNopLogger(), r.onError, nil}.With("module", "statesync").Error("State sync failed", "err",
		"snapshot restoration failed")
	err = <-r.Failed()
	require.ErrorIs(t, err, errSync)
	require.ErrorContains(t, err, "snapshot restoration failed")
	require.ErrorContains(t, err, "trust_hash")
}

// TestGenesisAhead: a node logs a genesis time in the future, and waits for it until a signal ends
// the wait.
func TestGenesisAhead(t *testing.T) {
	c, _ := alone(t, 5)
	require.NoError(t, home.AwaitGenesis(context.Background(), c, log.NewNopLogger()))
	data, err := os.ReadFile(c.GenesisFile())
	require.NoError(t, err)
	set := func(at time.Time) {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(data, &doc))
		doc["genesis_time"] = at.UTC()
		changed, err := json.Marshal(doc)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(c.GenesisFile(), changed, 0o600))
	}
	set(time.Now().Add(time.Hour))
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, home.AwaitGenesis(ctx, c, log.NewTMLogger(&out)), context.DeadlineExceeded)
	require.Contains(t, out.String(), "genesis time is ahead")
	at := time.Now().Add(300 * time.Millisecond)
	set(at)
	require.NoError(t, home.AwaitGenesis(context.Background(), c, log.NewNopLogger()))
	require.False(t, time.Now().Before(at))
}
