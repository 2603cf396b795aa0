//go:build !js

package verify

import (
	"fmt"
	"os"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// OpenLog reads the file of an audit log.
func OpenLog(path string) (*audit.Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return audit.ReadLog(f)
}

// LogHeaders returns the headers of a log, from the trusted one on. If a file with the genesis is
// named, it returns them from the first on.
func LogHeaders(log *audit.Log, t light.Trust, genesisFile string) (light.Headers, light.Trust, error) {
	blocks, err := log.Blocks()
	if err != nil {
		return nil, t, err
	}
	if len(blocks) == 0 {
		return nil, t, fmt.Errorf("%w: it has no headers", audit.ErrLog)
	}
	if genesisFile != "" {
		if t, err = fromGenesis(genesisFile, blocks[0]); err != nil {
			return nil, t, err
		}
	}
	headers, err := light.HeldHeaders(t, blocks)
	return headers, t, err
}

func fromGenesis(file string, first *types.LightBlock) (light.Trust, error) {
	doc, err := genesis.ReadFile(file)
	if err != nil {
		return light.Trust{}, err
	}
	return light.Genesis(doc, first)
}
