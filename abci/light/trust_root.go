//go:build !js

package light

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	cmtbytes "github.com/cometbft/cometbft/libs/bytes"
	"github.com/cometbft/cometbft/libs/tempfile"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/strictjson"
)

// genesisState returns the state before a chain's first block.
func genesisState(doc *types.GenesisDoc) (*app.State, error) {
	g, err := app.DecodeGenesis(doc.AppState)
	if err != nil {
		return nil, err
	}
	return app.NewState(doc.ChainID, uint64(doc.InitialHeight), doc.ConsensusParams.Block.MaxBytes, g)
}

// checkFirst returns an error if b is not the first block of the genesis's chain. That block has the initial height,
// the genesis validators, the application hash of s, and signatures of the genesis validators.
func checkFirst(doc *types.GenesisDoc, s *app.State, b *types.LightBlock) error {
	validators := make([]*types.Validator, len(doc.Validators))
	for i, v := range doc.Validators {
		validators[i] = types.NewValidator(v.PubKey, v.Power)
	}
	set := new(types.ValidatorSet)
	if err := set.UpdateWithChangeSet(validators); err != nil { // NewValidatorSet would panic instead
		return fmt.Errorf("genesis: %w", err)
	}
	hash := s.Hash()
	switch {
	case b.Height != doc.InitialHeight:
		return fmt.Errorf("%w: height %d, the chain begins at %d", ErrNotTrusted, b.Height, doc.InitialHeight)
	case !bytes.Equal(b.ValidatorsHash, set.Hash()):
		return fmt.Errorf("%w: the header of height %d has validators %X, those of the home's genesis are %X", ErrNotTrusted,
			b.Height, b.ValidatorsHash, set.Hash())
	case !bytes.Equal(b.AppHash, hash[:]):
		return fmt.Errorf("%w: the header of height %d begins with application hash %X, the home's genesis has %X",
			ErrNotTrusted, b.Height, b.AppHash, hash)
	}
	if err := set.VerifyCommitLight(doc.ChainID, b.Commit.BlockID, b.Height, b.Commit); err != nil {
		return rewordError(b.Height, err)
	}
	return nil
}

// keptHeader is the content of the file in which a home keeps the last header that it has verified.
type keptHeader struct {
	ChainID string            `json:"chain_id"`
	Height  int64             `json:"height"`
	Hash    cmtbytes.HexBytes `json:"hash"`
}

// readKept returns the header in a file, with height 0 if the file does not exist.
func readKept(path string) (k keptHeader, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = strictjson.Decode(data, &k)
	}
	if err != nil {
		err = fmt.Errorf("trusted header %s: %w; remove the file, and trust begins with genesis or worker.trust_height again",
			path, err)
	}
	return k, err
}

// keep writes a verified header to the file h.Kept, if there is one. The next start continues from that header.
func (h Home) keep(b *types.LightBlock) error {
	if h.Kept == "" {
		return nil
	}
	data, err := json.Marshal(keptHeader{b.ChainID, b.Height, b.Hash()})
	if err == nil {
		err = tempfile.WriteFileAtomic(h.Kept, append(data, '\n'), 0o600)
	}
	if err != nil {
		err = fmt.Errorf("trusted header %s: %w", h.Kept, err)
	}
	return err
}

// trustRoot returns the header at which a home's trust begins. It is the higher of two headers: the
// last header that the home verified, and the header that its operator trusts. If both are missing,
// it is the first header of the genesis's chain.
func (f *verifier) trustRoot(ctx context.Context) (*types.LightBlock, error) {
	trust := Trust{Height: f.Trust.Height, Hash: f.Trust.Hash}
	last, err := readKept(f.Kept)
	if err != nil {
		return nil, err
	}
	if last.ChainID == f.Genesis.ChainID && last.Height > trust.Height {
		trust.Height, trust.Hash = last.Height, last.Hash
	}
	at := max(trust.Height, f.Genesis.InitialHeight)
	b, err := f.nodes.current().provider.LightBlock(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("%w (trust begins at height %d: where the node has dropped it, set worker.trust_height and "+
			"trust_hash in app.toml)", rewordError(at, err), at)
	}
	if trust.Height == 0 {
		return b, checkFirst(f.Genesis, f.state, b)
	}
	if !bytes.Equal(b.Hash(), trust.Hash) {
		return nil, fmt.Errorf("%w: the node's header of height %d has hash %X, trusted is %X", ErrNotTrusted, at, b.Hash(),
			trust.Hash)
	}
	return b, nil
}
