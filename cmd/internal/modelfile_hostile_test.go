package internal_test

import (
	"archive/zip"
	"bytes"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	"github.com/cometbft/cometbft/types"
	"github.com/cometbft/cometbft/version"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// headerOf returns a light block with an application hash, of a chain that somebody
// has made for the purpose. Who trusts it is not asked here.
func headerOf(hash [32]byte) *types.LightBlock {
	v := types.NewValidator(ed25519.GenPrivKeyFromSecret([]byte("anybody")).PubKey(), 10)
	set := types.NewValidatorSet([]*types.Validator{v})
	id := types.BlockID{Hash: make([]byte, 32), PartSetHeader: types.PartSetHeader{Total: 1, Hash: make([]byte, 32)}}
	h := &types.Header{
		Version: cmtversion.Consensus{Block: version.BlockProtocol},
		ChainID: "c", Height: 2, Time: time.Unix(1, 0).UTC(), AppHash: hash[:], ValidatorsHash: set.Hash(),
		NextValidatorsHash: set.Hash(),
		LastBlockID:        id, ProposerAddress: v.Address,
	}
	sig := types.CommitSig{BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: v.Address, Timestamp: h.Time,
		Signature: make([]byte, 64)}
	return &types.LightBlock{
		SignedHeader: &types.SignedHeader{Header: h, Commit: &types.Commit{Height: 2, BlockID: id,
			Signatures: []types.CommitSig{sig}}}, ValidatorSet: set,
	}
}

// TestProvenIsNoNumber: a proof that holds, of parameters that JSON cannot say, is
// an error of who reads the file. Its maker writes them by hand: no chain has them.
func TestProvenIsNoNumber(t *testing.T) {
	s := apptest.State(4)
	out, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	for name, spoil := range map[string]func(p *params.Params){
		"":     func(*params.Params) {},
		"+Inf": func(p *params.Params) { p.Model.PixelScale = math.Inf(1) },
		"NaN":  func(p *params.Params) { p.Model.PixelMean = math.NaN() },
	} {
		var d app.Document
		require.NoError(t, d.Unmarshal(out.State.Encode()))
		spoil(&d.Params)
		data, err := d.Marshal()
		require.NoError(t, err)
		made, err := app.DecodeState(1, data)
		require.NoError(t, err)
		var b proof.Bundle
		var history proof.History
		require.NoError(t, history.Grow(1, func(_ *app.Record,
			each func(*app.Record) bool) error {
			each(out.Record)
			return nil
		}))
		b.Round, err = history.Round(made, out.Record)
		require.NoError(t, err)
		for key, into := range map[string]*proof.Proven{"progress": &b.Progress, "params": &b.Params, "epochs": &b.Epochs,
			"participants": &b.Participants} {
			*into, err = proof.State(made, key)
			require.NoError(t, err)
		}
		var f *modelfile.File
		require.NotPanics(t, func() { f, err = modelfile.New(made.Model, headerOf(made.Hash()), b) })
		if name == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, proof.ErrNotProven)
		require.ErrorContains(t, err, name)
		f = unproven(out.State.Params.Model) // as a file has it, whose card says something else
		header, err := modelfile.EncodeHeader(headerOf(made.Hash()))
		require.NoError(t, err)
		f.Card.Proof = modelfile.Bundle{Header: header, Bundle: b}
		seal(&f.Card)
		require.NotPanics(t, func() { err = f.Check() })
		require.ErrorIs(t, err, proof.ErrNotProven)
	}
}

// TestPackedArraysAreNotUnpackedWhole: of an archive that somebody packed, no more is unpacked than
// the card's tensors have.
func TestPackedArraysAreNotUnpackedWhole(t *testing.T) {
	file, err := unproven(softmax).Encode(modelfile.NPZ)
	require.NoError(t, err)
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range in.File {
		if f.Name == "card.npy" {
			require.NoError(t, z.Copy(f))
			continue
		}
		w, err := z.Create(f.Name)
		require.NoError(t, err)
		for range 64 {
			_, err = w.Write(make([]byte, 1<<20))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = modelfile.Decode(out.Bytes())
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, modelfile.ErrFile)
	require.ErrorContains(t, err, "array output.weight has another header or size")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}
