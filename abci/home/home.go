package home

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
)

// Home is a new home that Init has made, with its keys.
type Home struct {
	Dir    string
	NodeID p2p.ID
	Public app.Identity // the public keys, moniker and node id of the participant
	Keys   worker.Keys
	Config *config.Config
}

// Participant returns the home's participant for the genesis of a chain, with its VRF proof over the seed.
func (h *Home) Participant(index uint32, chainID string, seed []byte, r params.Reputation) app.Participant {
	p := app.NewParticipant(index, h.Public, r)
	p.VrfProof = app.ProveGenesis(chainID, seed, h.Keys.VRF)
	return p
}

// checkAbsent returns an error if a file in files, or a configuration in dir, exists.
func checkAbsent(dir string, files ...string) error {
	for _, file := range append(files, filepath.Join(dir, "config", "config.toml"),
		filepath.Join(dir, "config", "app.toml")) {
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("%s exists already, and nothing is overwritten: name another folder", file)
		}
	}
	return nil
}

// Init makes a new home: folders, keys, config.toml and app.toml, but no genesis. The home of a relay gets only a node
// key. Init fails, and overwrites nothing, if a key, a configuration or a genesis exists.
func Init(dir string, c *config.Config, a AppConfig) (*Home, error) {
	return InitEncrypted(dir, c, a, new(Keystore), nil)
}

// InitEncrypted makes a new home as Init does, with encrypted keys: no key is ever plain on the disk. It asks for the
// passphrase only after all checks of the folder. The keystore s belongs to the home, and is unlocked afterwards. If
// ask is nil, the keys are plain.
func InitEncrypted(dir string, c *config.Config, a AppConfig, s *Keystore, ask Passphrase) (*Home, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if err := setRoot(c, dir); err != nil {
		return nil, err
	}
	if err := checkAbsent(dir, c.PrivValidatorKeyFile(), c.NodeKeyFile(), c.GenesisFile(),
		InHome(c, a.Worker.KeyFile), IdentityFile(dir)); err != nil {
		return nil, err
	}
	passphrase := ""
	if ask != nil {
		var err error
		if passphrase, err = ask(); err == nil {
			err = CheckPassphrase(passphrase)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := makeFolders(c); err != nil {
		return nil, err
	}
	config.WriteConfigFile(filepath.Join(dir, "config", "config.toml"), c)
	if err := a.WriteFile(dir); err != nil {
		return nil, err
	}
	if ask != nil {
		if err := s.newIdentity(passphrase); err != nil {
			return nil, err
		}
	}
	nodeKey, err := s.newNodeKey(c.NodeKeyFile())
	if err != nil {
		return nil, err
	}
	if a.IsRelay() {
		return &Home{Dir: dir, NodeID: nodeKey.ID(), Config: c}, nil
	}
	keys, err := s.NewKeys(InHome(c, a.Worker.KeyFile))
	if err != nil {
		return nil, err
	}
	if err := worker.NewJournal(InHome(c, a.Worker.Journal)); err != nil {
		return nil, err
	}
	pub, err := s.newValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	if err != nil {
		return nil, err
	}
	who := Identity(keys, pub.Bytes(), c.Moniker)
	who.NodeIDs = []string{string(nodeKey.ID())}
	return &Home{Dir: dir, NodeID: nodeKey.ID(), Public: who, Keys: keys, Config: c}, nil
}

// makeFolders makes a home's folders and checks that files can be written in them. Without the
// check CometBFT would panic or end the process.
func makeFolders(c *config.Config) error {
	for _, file := range []string{c.PrivValidatorKeyFile(), c.PrivValidatorStateFile(), filepath.Join(c.RootDir, "config",
		"config.toml")} {
		folder := filepath.Dir(file)
		if err := os.MkdirAll(folder, config.DefaultDirPerm); err != nil {
			return err
		}
		probe, err := os.CreateTemp(folder, "probe-*")
		if err != nil {
			return err
		}
		if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Identity returns the app.Identity of a participant with the given keys, consensus key and moniker.
func Identity(keys worker.Keys, consensusKey []byte, moniker string) app.Identity {
	return app.Identity{PubKey: keys.Public(), VrfKey: keys.VRF.Public().(ed25519.PublicKey), ConsensusKey: consensusKey,
		Moniker: moniker}
}

// WriteConfig validates h.Config, and overwrites the home's config.toml with it.
func (h *Home) WriteConfig() error {
	if err := h.Config.ValidateBasic(); err != nil {
		return fmt.Errorf("config.toml: %w", err)
	}
	config.WriteConfigFile(filepath.Join(h.Dir, "config", "config.toml"), h.Config)
	return nil
}

// RestoreData makes data/ for a home without one, for example after a restore of only the keys. The new folder has the
// state file of a validator that has signed nothing, and a SignPause, because the validator may have signed before. If
// a signer has the validator's key, the folder is empty. RestoreData does nothing if data/ or the state file exists.
func RestoreData(c *config.Config, logger log.Logger) error {
	for _, path := range []string{c.DBDir(), c.PrivValidatorStateFile()} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if c.PrivValidatorListenAddr != "" {
		return os.MkdirAll(c.DBDir(), 0o700)
	}
	if err := checkValidatorKey(c); err != nil {
		return err
	}
	if err := os.MkdirAll(c.DBDir(), 0o700); err != nil {
		return err
	}
	if err := beginSignPause(c); err != nil { // written before the state file, without which no node starts
		return err
	}
	emptyState(c.PrivValidatorStateFile())
	logger.Warn("the home had no data folder, so what its validator has signed is not known: it signs nothing for now; "+
		"no other node may run with its keys", "folder", c.DBDir(), "blocks", PauseBlocks)
	return nil
}

// Reset removes the blocks, the application's database and the worker's journal, and resets the
// validator's last signature. Keys and configuration stay. Reset fails if the node is running. On
// the same chain the validator could sign a height a second time after a reset. Reset fails for a worker group.
func Reset(c *config.Config, a AppConfig) error {
	if IsWorkerGroup(c, a) {
		return errNoDatabases
	}
	if !a.IsRelay() {
		if err := checkValidatorKey(c); err != nil {
			return err
		}
	}
	if err := checkStopped(c); err != nil {
		return err
	}
	if err := os.RemoveAll(c.DBDir()); err != nil {
		return err
	}
	if err := os.MkdirAll(c.DBDir(), 0o700); err != nil || a.IsRelay() { // a relay has no validator and no journal
		return err
	}
	journal := InHome(c, a.Worker.Journal)
	if err := os.RemoveAll(journal); err != nil {
		return err
	}
	if err := worker.NewJournal(journal); err != nil {
		return err
	}
	emptyState(c.PrivValidatorStateFile())
	return nil
}

var errNoDatabases = errors.New("a home of many workers has no databases; another chain wants another home")

// DivergenceFile is the name of the file, in the data folder of a home, that records that the node's
// state differs from the chain's. Reset and ResetState remove it together with that state.
const DivergenceFile = "diverged.json"

// ResetState removes the databases, with the blocks and snapshots in them, the consensus write-ahead log and a recorded
// divergence. The node then syncs the chain from its peers. The validator's last signature, the worker's journal, keys
// and configuration stay, so neither the validator nor the worker signs twice. ResetState fails if the node is running,
// and for a worker group, which has no databases.
func ResetState(c *config.Config, a AppConfig) error {
	if IsWorkerGroup(c, a) {
		return errNoDatabases
	}
	if err := checkStopped(c); err != nil {
		return err
	}
	files, err := os.ReadDir(c.DBDir())
	if err != nil {
		return err
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".db" {
			if err := os.RemoveAll(filepath.Join(c.DBDir(), f.Name())); err != nil {
				return err
			}
		}
	}
	if err := RemoveWAL(c.Consensus.WalFile()); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(c.DBDir(), DivergenceFile)) // last: while it exists, no node starts
}

// RemoveWAL removes the files of a write-ahead log: the current file, and the older files, whose
// names have a number appended.
func RemoveWAL(file string) error {
	folder, name := filepath.Split(file)
	files, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if f.Name() == name || strings.HasPrefix(f.Name(), name+".") {
			err = errors.Join(err, os.Remove(filepath.Join(folder, f.Name())))
		}
	}
	return err
}

// checkValidatorKey rejects a home whose validator key is missing or damaged. It does not decrypt an encrypted key.
func checkValidatorKey(c *config.Config) error {
	_, err := new(Keystore).LoadValidatorKey(c.PrivValidatorKeyFile())
	if errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}
