package node

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/store"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// asVersion changes the program's version until the test ends.
func asVersion(t *testing.T, version uint64) {
	t.Helper()
	before := app.Version
	app.Version = version
	t.Cleanup(func() { app.Version = before })
}

// untilUpgrade runs the node of a home and upgrades its chain after a number of heights. Once the
// node has ended by itself, it returns the height of the upgrade and the node's log.
func untilUpgrade(t *testing.T, c *config.Config, a home.AppConfig, version uint64) (uint64, string) {
	t.Helper()
	var out bytes.Buffer
	r, err := Start(c, a, log.NewTMLogger(log.NewSyncWriter(&out)), Hooks{})
	require.NoError(t, err)
	keys, err := new(home.Keystore).LoadKeys(home.InHome(c, a.Worker.KeyFile))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Application.State() != nil && r.Application.State().Height > 1 },
		time.Minute, time.Millisecond)
	s := r.Application.State()
	p, _ := s.Find(keys.Public())
	at := s.Height + app.UpgradeMargin + 10 // heights for the transaction to get into a block
	x, err := tx.Sign(s.ChainID, &tx.Upgrade{Participant: p.Index, Nonce: p.Nonce + 1, Name: "next", Height: at,
		Version: version}, keys.Signing)
	require.NoError(t, err)
	_, err = rpclocal.New(r.Node).BroadcastTxSync(context.Background(), x.Raw)
	require.NoError(t, err)
	select {
	case err = <-r.Failed():
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the node does not end", "height %d of %d", r.Application.State().Height, at)
	}
	require.ErrorIs(t, err, ErrVersion)
	require.ErrorContains(t, err, `upgrade "next" makes it version`)
	require.Equal(t, at-1, r.Application.State().Height)
	require.NoError(t, r.Stop())
	require.Contains(t, out.String(), "upgrade: the node stops")
	require.NotContains(t, out.String(), "CONSENSUS FAILURE")
	return at, out.String()
}

// TestUpgradeOfANode: a node executes the last height of its version and ends, and signs nothing
// after it. The program of the old version is then rejected, and so is a program of a third
// version. The program of the new version continues, with that version in the headers.
func TestUpgradeOfANode(t *testing.T) {
	stage.OnlyLong(t) // runs a node
	old := app.Version
	c, a := alone(t, 100_000)
	asVersion(t, old+1)
	_, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "version.app is", "before the first block")
	app.Version = old
	at, _ := untilUpgrade(t, c, a, old+1)

	signed, err := os.ReadFile(c.PrivValidatorStateFile())
	require.NoError(t, err)
	require.Contains(t, string(signed), `"height": "`+number(at-1)+`"`, "the last that was signed")
	require.NotContains(t, string(signed), `"height": "`+number(at)+`"`)
	for _, wrong := range []uint64{old, old + 2} {
		app.Version = wrong
		_, err = Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorIs(t, err, ErrVersion)
		require.ErrorContains(t, err, "Put a release in place whose spdl version prints state machine "+number(old+1))
	}
	app.Version = old + 1
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Application.State().Height > at+5 }, 2*time.Minute, time.Millisecond)
	blocks := r.Node.BlockStore()
	for height, want := range map[uint64]uint64{at - 1: old, at: old + 1, at + 5: old + 1} {
		require.Equal(t, want, blocks.LoadBlockMeta(int64(height)).Header.Version.App, "height %d", height)
	}
	require.NoError(t, r.Stop())
	require.Empty(t, r.Failed())
	app.Version = old
	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorContains(t, err, "Start a release whose spdl version prints state machine "+number(old+1))
	app.Version = old + 1
	at, _ = untilUpgrade(t, c, a, old+9)
	app.Version = old + 9
	r, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Application.State().Height > at }, 2*time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())
}

// TestUpgradeAfterACrash: whichever stores a crash leaves behind the others at an upgrade, each version executes its
// own heights.
func TestUpgradeAfterACrash(t *testing.T) {
	stage.OnlyLong(t) // runs a node
	old := app.Version
	c, a := alone(t, 100_000)
	asVersion(t, old)
	run(t, c, a, 2)
	early, late := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(early, os.DirFS(filepath.Join(c.DBDir(), "application.db"))))
	at, _ := untilUpgrade(t, c, a, old+1)
	require.NoError(t, os.CopyFS(late, os.DirFS(c.DBDir())))
	refused := func() {
		_, err := Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorIs(t, err, ErrVersion)
		require.ErrorContains(t, err, "Put a release in place")
	}
	reaches := func(height uint64) {
		app.Version = old + 1
		r, err := Start(c, a, log.NewNopLogger(), Hooks{})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return r.Application.State().Height >= height }, 2*time.Minute, time.Millisecond)
		require.Equal(t, old+1, r.Node.BlockStore().LoadBlockMeta(int64(at)).Header.Version.App)
		require.NoError(t, r.Stop())
	}
	t.Run("the application is behind", func(t *testing.T) {
		behind := func() {
			db := filepath.Join(c.DBDir(), "application.db")
			require.NoError(t, os.RemoveAll(db))
			require.NoError(t, os.CopyFS(db, os.DirFS(early)))
		}
		behind()
		app.Version = old + 1
		_, err := Start(c, a, log.NewNopLogger(), Hooks{})
		require.ErrorIs(t, err, ErrVersion, "the heights of before are not the new version's to replay")
		app.Version = old
		refused() // the replay leads to the last height
		reaches(at + 3)

		behind() // CometBFT now has blocks of the new version
		app.Version = old
		refused()
		reaches(at)
	})
	// A crash after the application stored the last height of its version, and before CometBFT did, leaves CometBFT at
	// the old version. The application's state decides which program continues, and CometBFT learns the version from the
	// results that it had stored.
	t.Run("CometBFT is behind", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(c.DBDir()))
		require.NoError(t, os.CopyFS(c.DBDir(), os.DirFS(late)))
		app.Version = old
		var d databases.Set
		open := func(id string) dbm.DB {
			db, err := d.Provide(&config.DBContext{ID: id, Config: c})
			require.NoError(t, err)
			return db
		}
		height, _, err := sm.Rollback(store.NewBlockStore(open("blockstore")), sm.NewStore(open("state"), sm.StoreOptions{}),
			false)
		require.NoError(t, err)
		require.Equal(t, int64(at-2), height)
		require.NoError(t, d.Close())
		refused()
		reaches(at + 1)
	})
}

// TestSignerStops: the signer signs nothing at a height of another version.
func TestSignerStops(t *testing.T) {
	c, _ := alone(t, 5)
	key, err := new(home.Keystore).LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.NoError(t, err)
	var s *app.State
	gate := home.Gate{PrivValidator: key, Check: executable(func() *app.State { return s })}
	vote := func(height int64) error {
		return gate.SignVote("alone", &cmtproto.Vote{Type: cmtproto.PrevoteType, Height: height})
	}
	require.NoError(t, vote(3), "before the first state")
	s = (&app.State{Height: 9, Progress: app.Progress{Upgrades: []app.Upgrade{{Name: "x", Height: 11, Version: 7}}}}).As(6)
	require.NoError(t, vote(10))
	s = (&app.State{Height: 10, Progress: s.Progress}).As(6)
	require.ErrorIs(t, vote(11), app.ErrVersion)
	require.ErrorIs(t, gate.SignProposal("alone", &cmtproto.Proposal{Type: cmtproto.ProposalType, Height: 11}),
		app.ErrVersion)
	s = s.As(7)
	require.NoError(t, vote(11))
}

func number(x uint64) string { return strconv.FormatUint(x, 10) }
