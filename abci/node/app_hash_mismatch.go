package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/abci/home"
)

// errDiverged means that a node's state differs from the chain's.
var errDiverged = errors.New("this node has diverged from the chain")

func divergenceError(reason string) error {
	return fmt.Errorf("%w: more than two thirds of the validators signed a block that this node's state contradicts: %s. "+
		"Its database is damaged, or its program (spdl version) or its config/genesis.json (sha256sum; look there first if "+
		"it is block 1 or 2) is another than the others'. Keep a copy of the home, find the first wrong height by spdl "+
		"audit replay, then run spdl reset-state --yes with the right program and sync again", errDiverged, reason)
}

// recordDivergence writes home.DivergenceFile into a data folder. The file says that the node's
// state differs from the chain's, and why. From then on checkDiverged rejects the home.
func recordDivergence(folder, reason string) error {
	path := filepath.Join(folder, home.DivergenceFile)
	data, err := json.Marshal(struct {
		Reason string `json:"reason"`
	}{reason})
	if err == nil {
		err = tempfile.WriteFileAtomic(path, data, 0o600)
	}
	if err == nil {
		err = home.SyncFolder(path)
	}
	if err != nil {
		return fmt.Errorf("remember the divergence: %w", err)
	}
	return nil
}

// checkDiverged rejects a home whose state is known to differ from the chain's. The node of such a
// home would disconnect every honest peer without naming the reason.
func checkDiverged(c *config.Config) error {
	data, err := os.ReadFile(filepath.Join(c.DBDir(), home.DivergenceFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var d struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(data, &d) != nil || d.Reason == "" {
		d.Reason = string(data)
	}
	return divergenceError(d.Reason)
}
