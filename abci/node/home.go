package node

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
)

// Home is what Init made: the public side of the new keys.
type Home struct {
	Dir            string
	NodeID         p2p.ID
	ConsensusKey   []byte // ed25519 public key, 32 bytes
	ParticipantKey ed25519.PublicKey
	Config         *config.Config
}

// Init makes a new home: folders, keys, config.toml and app.toml; no genesis.
// It refuses a home that has keys, and overwrites nothing.
func Init(dir string, c *config.Config, a AppConfig) (*Home, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	c.SetRoot(dir)
	for _, file := range []string{
		c.PrivValidatorKeyFile(), c.NodeKeyFile(), c.GenesisFile(), InHome(c, a.Worker.KeyFile),
		filepath.Join(dir, "config", "config.toml"), filepath.Join(dir, "config", "app.toml"),
	} {
		if _, err := os.Stat(file); err == nil {
			return nil, fmt.Errorf("%s exists already", file)
		}
	}
	config.EnsureRoot(dir)
	config.WriteConfigFile(filepath.Join(dir, "config", "config.toml"), c)
	if err := a.WriteFile(dir); err != nil {
		return nil, err
	}
	key, err := NewKey(InHome(c, a.Worker.KeyFile))
	if err != nil {
		return nil, err
	}
	nodeKey, err := p2p.LoadOrGenNodeKey(c.NodeKeyFile())
	if err != nil {
		return nil, err
	}
	pv := privval.LoadOrGenFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	pub, err := pv.GetPubKey()
	if err != nil {
		return nil, err
	}
	return &Home{Dir: dir, NodeID: nodeKey.ID(), ConsensusKey: pub.Bytes(), ParticipantKey: key.Public().(ed25519.PublicKey), Config: c}, nil
}

// WriteConfig writes the home's config.toml again.
func (h *Home) WriteConfig() error {
	if err := h.Config.ValidateBasic(); err != nil {
		return fmt.Errorf("config.toml: %w", err)
	}
	config.WriteConfigFile(filepath.Join(h.Dir, "config", "config.toml"), h.Config)
	return nil
}

// Reset removes the blocks, the application's database and the worker's
// journal, and sets the validator's last signature back. Keys and configuration
// stay. The journal goes with the chain that it belongs to.
func Reset(c *config.Config, a AppConfig) error {
	if err := os.RemoveAll(c.DBDir()); err != nil {
		return err
	}
	if err := os.MkdirAll(c.DBDir(), 0o700); err != nil {
		return err
	}
	if err := os.RemoveAll(InHome(c, a.Worker.Journal)); err != nil {
		return err
	}
	if _, err := os.Stat(c.PrivValidatorKeyFile()); err != nil {
		return err
	}
	privval.LoadFilePVEmptyState(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile()).Save()
	return nil
}
