package verify

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// File is an exported model that agrees with its own proof. Offline and Against verify that the
// proof leads to the chain.
type File struct {
	*modelfile.File
	Name, Format string
}

// Open decodes a file's bytes and checks them against the proof in the file. chainID is the chain
// to which the model must belong, or "" for any.
func Open(name string, data []byte, chainID string) (*File, error) {
	f, format, err := modelfile.Decode(data)
	if err == nil {
		err = f.CheckProven()
	}
	if err == nil && chainID != "" && chainID != f.Card.ChainID {
		err = fmt.Errorf("%w: it is of chain %q, want %q", proof.ErrNotProven, f.Card.ChainID, chainID)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &File{f, name, format}, nil
}

// Offline verifies the file against the header in the file, which is trusted because of its hash. A
// trusted height of 0 stands for any height. Offline asks no node.
func (f *File) Offline(t light.Trust) (Verdict, error) {
	own, err := f.Header()
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	if t.ChainID = f.Card.ChainID; t.Height == 0 {
		t.Height = own.Height
	}
	return f.Against(context.Background(), light.PinnedHeader(t, own), t)
}

// Against verifies the file against a header that follows from trust.
func (f *File) Against(ctx context.Context, h light.Headers, t light.Trust) (Verdict, error) {
	b, err := Model(ctx, f.File, h)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	v := On(fmt.Sprintf("model after epoch %d round %d", f.Card.Epoch, f.Card.Round), t, b)
	v.File, v.Format, v.Card = f.Name, f.Format, &modelfile.CardReport{Card: f.Card}
	return v, nil
}
