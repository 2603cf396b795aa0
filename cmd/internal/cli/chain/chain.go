// Package chain opens a chain for commands that replay it: of a home, a localnet, an archive or a
// node.
package chain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/testnet"
)

// Home returns the home of a chain's node in a folder: the folder itself, or the first home of a
// localnet.
func Home(dir string) (folder string, ok bool) {
	if testnet.Made(dir) {
		dir = filepath.Join(dir, "node0")
	}
	_, err := os.Stat(filepath.Join(dir, "config", "genesis.json"))
	return dir, err == nil
}

// Open opens a chain and an evaluator of its models: with the data and the trainer of the options,
// or of the home. The caller closes both.
func Open(r *command.Run, where string, o command.Models) (src audit.Source, e *home.Evaluator, err error) {
	c, w := config.DefaultConfig().SetRoot(r.Home), home.DefaultAppConfig().Worker
	info, missing := os.Stat(where)
	switch folder, ok := Home(where); {
	case strings.Contains(where, "://"):
		src, err = remote(r, where)
	case missing != nil:
		return nil, nil, fmt.Errorf("%w; want the home of a stopped node or localnet, an archive of a chain, or the "+
			"address of a node, as tcp://127.0.0.1:26657", missing)
	case !info.IsDir():
		src, err = audit.OpenArchive(where)
	case !ok:
		return nil, nil, fmt.Errorf("%s is neither the home of a node nor of a localnet: it has no config/genesis.json",
			where)
	default:
		var a home.AppConfig
		if c, a, err = home.Load(folder); err != nil {
			return nil, nil, err
		}
		w = a.Worker
		if src, err = audit.OpenHome(c); errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s has no chain yet: its node was never started", folder)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if e, err = o.Of(c, w); err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	return src, e, nil
}

// Genesis returns a chain's genesis, and whether the chain may have begun an epoch after its first. It
// executes no block.
func Genesis(r *command.Run, where string, o command.Models) (doc *types.GenesisDoc, later bool, err error) {
	src, e, err := Open(r, where, o)
	if err != nil {
		return nil, false, err
	}
	defer e.Close()
	defer func() { err = errors.Join(err, src.Close()) }()
	return src.Genesis(), audit.HasLaterEpochs(r.Context, src), nil
}

func remote(r *command.Run, where string) (audit.Source, error) {
	c, err := r.Client(where)
	if err != nil {
		return nil, err
	}
	return audit.OpenRemote(r.Context, c)
}
