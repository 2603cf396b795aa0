package home_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	c := home.DefaultConfig()
	made, err := home.Init(dir, c, home.DefaultAppConfig())
	require.NoError(t, err)

	for _, file := range []string{"config/config.toml", "config/app.toml", "data/priv_validator_state.json"} {
		require.FileExists(t, filepath.Join(dir, file))
	}
	for _, secret := range []string{"config/node_key.json", "config/priv_validator_key.json",
		"config/participant_key.json"} {
		info, err := os.Stat(filepath.Join(dir, secret))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), secret)
	}
	nodeKey, err := p2p.LoadNodeKey(c.NodeKeyFile())
	require.NoError(t, err)
	require.Equal(t, nodeKey.ID(), made.NodeID)
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	require.Equal(t, made.Keys, keys)
	require.Equal(t, made.Public.PubKey, []byte(keys.Public()))
	require.NotEqual(t, made.Public.ConsensusKey, made.Public.PubKey,
		"a participant's key is its own, not the validator's")
	require.NotEqual(t, made.Public.VrfKey, made.Public.PubKey)
}

// TestInitRefuses: Init overwrites nothing in a home.
func TestInitRefuses(t *testing.T) {
	for _, there := range []string{"config/node_key.json", "config/priv_validator_key.json", "config/genesis.json",
		"config/participant_key.json", "config/app.toml", "config/config.toml"} {
		dir := t.TempDir()
		file := filepath.Join(dir, there)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
		_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
		require.ErrorContains(t, err, "exists already", there)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "mine", string(data), there)
	}
}

// TestInitCannotWrite: Init returns an error in a folder in which CometBFT would panic.
func TestInitCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := home.Init(filepath.Join(file, "home"), home.DefaultConfig(), home.DefaultAppConfig())
	require.ErrorContains(t, err, file)

	dir := t.TempDir() // a file in place of a folder
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
	_, err = home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.ErrorContains(t, err, filepath.Join(dir, "data"))
	require.NoFileExists(t, filepath.Join(dir, "config/config.toml"))
}

func TestReset(t *testing.T) {
	dir := t.TempDir()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	made, err := home.Init(dir, c, a)
	require.NoError(t, err)
	pv := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	pv.LastSignState.Height = 7
	pv.LastSignState.Save()
	block, journal := filepath.Join(dir, "data/blockstore.db/x"), filepath.Join(dir, a.Worker.Journal)
	require.NoError(t, os.MkdirAll(filepath.Dir(block), 0o700))
	require.NoError(t, os.WriteFile(block, nil, 0o600))
	require.NoError(t, os.WriteFile(journal, nil, 0o600))

	require.NoError(t, home.Reset(c, a))
	require.NoFileExists(t, block)
	left, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.Contains(t, string(left), `"new":true`, "the journal of a new home")
	pv = privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.Zero(t, pv.LastSignState.Height)
	pub, err := pv.GetPubKey()
	require.NoError(t, err)
	require.Equal(t, made.Public.ConsensusKey, pub.Bytes(), "the key stays")
}

// TestResetRunning: Reset changes nothing in a home whose database a node has open.
func TestResetRunning(t *testing.T) {
	dir := t.TempDir()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	_, err := home.Init(dir, c, a)
	require.NoError(t, err)
	pv := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	pv.LastSignState.Height = 7
	pv.LastSignState.Save()
	journal := filepath.Join(dir, a.Worker.Journal)
	require.NoError(t, os.WriteFile(journal, nil, 0o600))

	held, err := dbm.NewDB("application", dbm.BackendType(c.DBBackend), c.DBDir())
	require.NoError(t, err)
	require.ErrorContains(t, home.Reset(c, a), "a node runs in this home: stop it first")
	require.FileExists(t, journal)
	require.DirExists(t, filepath.Join(dir, "data/application.db"))
	pv = privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.Equal(t, int64(7), pv.LastSignState.Height)

	require.NoError(t, held.Close())
	require.NoError(t, home.Reset(c, a))
	left, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NotEmpty(t, left)
}

// TestResetState: ResetState removes the databases, the write-ahead log and a recorded divergence of
// a stopped node, and keeps every other file byte for byte.
func TestResetState(t *testing.T) {
	dir := t.TempDir()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	_, err := home.Init(dir, c, a)
	require.NoError(t, err)
	pv := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	pv.LastSignState.Height = 7
	pv.LastSignState.Save()
	require.NoError(t, os.WriteFile(home.InHome(c, a.Worker.Journal), []byte("signed"), 0o600))
	files := func() map[string]string {
		all := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			all[path] = string(data)
			return err
		}))
		return all
	}
	before := files()
	for _, lost := range []string{"state.db/x", "blockstore.db/x", "evidence.db/x", "tx_index.db/x", "cs.wal/wal",
		"cs.wal/wal.000", home.DivergenceFile} {
		path := filepath.Join(c.DBDir(), lost)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}

	held, err := dbm.NewDB("application", dbm.BackendType(c.DBBackend), c.DBDir())
	require.NoError(t, err)
	require.ErrorContains(t, home.ResetState(c, a), "a node runs in this home: stop it first")
	require.FileExists(t, filepath.Join(c.DBDir(), "state.db/x"))
	require.NoError(t, held.Close())
	require.NoError(t, home.ResetState(c, a))
	require.Equal(t, before, files())
}

// TestRestoreData: a home without its data folder gets one in which the validator signs nothing for now. Where a
// signer has the validator's key, the home needs none. ResetState keeps the pause, and Reset, for another chain, ends
// it.
func TestRestoreData(t *testing.T) {
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	_, err := home.Init(t.TempDir(), c, a)
	require.NoError(t, err)
	pause := func() *home.SignPause {
		p, err := home.ReadSignPause(c)
		require.NoError(t, err)
		return p
	}
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
	require.Nil(t, pause(), "a new home")
	require.NoError(t, os.Remove(c.PrivValidatorStateFile()))
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
	_, err = new(home.Keystore).LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, home.LostStateRemedy)
	require.NoError(t, os.WriteFile(c.PrivValidatorStateFile(), []byte(`{"height":`), 0o600))
	_, err = new(home.Keystore).LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.ErrorContains(t, err, home.LostStateRemedy)

	require.NoError(t, os.RemoveAll(c.DBDir()))
	before := time.Now()
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
	began := pause().Since
	require.False(t, began.Before(before))
	require.NoError(t, home.ResetState(c, a))
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
	require.Equal(t, began, pause().Since)
	require.NoError(t, home.Reset(c, a))
	require.Nil(t, pause())

	require.NoError(t, os.RemoveAll(c.DBDir()))
	require.NoError(t, os.Remove(c.PrivValidatorKeyFile()))
	require.Error(t, home.RestoreData(c, log.NewNopLogger()))
	c.PrivValidatorListenAddr = "tcp://127.0.0.1:26659"
	require.NoError(t, home.RestoreData(c, log.NewNopLogger()))
	require.DirExists(t, c.DBDir())
	require.Nil(t, pause())
}

// TestResetStopped: Reset works in a home whose database is missing, damaged, in memory or of a
// backend that is not built in, because none of these means that a node is running.
func TestResetStopped(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, c *config.Config){
		"no database": func(*testing.T, *config.Config) {},
		"no folder":   func(t *testing.T, c *config.Config) { require.NoError(t, os.RemoveAll(c.DBDir())) },
		"in memory":   func(_ *testing.T, c *config.Config) { c.DBBackend = "memdb" },
		"damaged": func(t *testing.T, c *config.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(c.DBDir(), "application.db"), []byte("no folder"), 0o600))
		},
		"not built in": func(_ *testing.T, c *config.Config) { c.DBBackend = "cleveldb" },
	} {
		t.Run(name, func(t *testing.T) {
			c, a := home.DefaultConfig(), home.DefaultAppConfig()
			_, err := home.Init(t.TempDir(), c, a)
			require.NoError(t, err)
			change(t, c)
			require.NoError(t, home.Reset(c, a))
			left, err := os.ReadDir(c.DBDir())
			require.NoError(t, err)
			require.Len(t, left, 2, "the validator's state and a new journal")
		})
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key.json")
	_, err := new(home.Keystore).LoadKeys(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = new(home.Keystore).NewKeys(path)
	require.NoError(t, err)
	_, err = new(home.Keystore).NewKeys(path)
	require.ErrorContains(t, err, "exists already")
	for content, says := range map[string]string{
		`{`: "unexpected end",
		`{"priv_key":{"type":"tendermint/PrivKeyEd25519","value":"AAAA"}}`:   "3 bytes",
		`{"priv_key":{"type":"tendermint/PrivKeySecp256k1","value":"AAAA"}}`: "want ed25519",
		`{}`: "want ed25519",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err = new(home.Keystore).LoadKeys(path)
		require.Error(t, err, content)
		require.ErrorContains(t, err, says, content)
	}
}
