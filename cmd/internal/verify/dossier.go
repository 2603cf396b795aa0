//go:build !js

package verify

import (
	"context"
	"fmt"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/cmd/internal/dossier"
)

// Dossier verifies the file of a dossier against a trusted header or, if a file with the genesis is
// named, against that genesis. If the trust names no chain, the dossier may be of any chain.
func Dossier(ctx context.Context, path string, t light.Trust, genesisFile string) (dossier.Verdict, error) {
	root := func(chainID string, _ *types.LightBlock) (light.Trust, error) {
		if t.ChainID == "" {
			t.ChainID = chainID
		}
		return t, nil
	}
	if genesisFile != "" {
		doc, err := genesis.ReadFile(genesisFile)
		if err != nil {
			return dossier.Verdict{}, err
		}
		root = func(_ string, first *types.LightBlock) (light.Trust, error) { return light.Genesis(doc, first) }
	}
	data, err := dossier.ReadFile(path)
	if err != nil {
		return dossier.Verdict{}, err
	}
	v, err := dossier.Verify(ctx, data, root)
	if err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
