package modelfile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
)

// ErrStale means that a verified value was true too long ago.
var ErrStale = errors.New("answer is too old")

// Verify checks every byte of an exported model: the file against its proof, and the proof against
// the header that the light client trusts.
func (f *File) Verify(ctx context.Context, h light.Headers) (*types.LightBlock, error) {
	if err := f.CheckProven(); err != nil {
		return nil, err
	}
	b, err := h.Header(ctx, f.Card.Height)
	if err != nil {
		return nil, err
	}
	own, err := f.Header()
	if err != nil {
		return nil, err
	}
	if b.ChainID != f.Card.ChainID {
		return b, fmt.Errorf("%w: the file is of chain %q, the header of %q", proof.ErrNotProven, f.Card.ChainID, b.ChainID)
	}
	if string(b.AppHash) != string(own.AppHash) {
		return b, fmt.Errorf("%w: the file leads to application hash %X, the chain's header of height %d has %X",
			proof.ErrNotProven, own.AppHash, b.Height, b.AppHash)
	}
	return b, nil
}

// Answer checks a node's answer to a proven query. asked is the key of the requested value, and
// height is that of the header with the application hash.
func Answer(ctx context.Context, asked string, p proof.Proven, height int64, h light.Headers) (*types.LightBlock,
	error) {
	b, err := h.Header(ctx, height)
	if err != nil {
		return nil, err
	}
	if err := p.Verify(asked, b.AppHash); err != nil {
		return b, fmt.Errorf("header of height %d: %w", height, err)
	}
	return b, nil
}

// Fresh rejects a header that is older than most; 0 accepts any. A verified answer was true at the
// header's height, and a node that hides later blocks can still prove it.
func Fresh(b *types.LightBlock, now time.Time, most time.Duration) error {
	if age := now.Sub(b.Time); most > 0 && age > most {
		return fmt.Errorf("%w: the header of height %d, to which it leads, is %v old, at most %v is taken (--max-age)",
			ErrStale, b.Height, age.Round(time.Millisecond), most)
	}
	return nil
}

// Checked is a named file that agrees with its own proof. Offline and Against verify that the
// proof leads to the chain.
type Checked struct {
	*File
	Name, Format string
}

// Open decodes a file's bytes and checks them against the proof in the file. chainID is the chain
// to which the model must belong, or "" for any.
func Open(name string, data []byte, chainID string) (*Checked, error) {
	f, format, err := Decode(data)
	if err == nil {
		err = f.CheckProven()
	}
	if err == nil && chainID != "" && chainID != f.Card.ChainID {
		err = fmt.Errorf("%w: it is of chain %q, want %q", proof.ErrNotProven, f.Card.ChainID, chainID)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Checked{f, name, format}, nil
}

// Offline verifies the file against the header in the file, which is trusted because of its hash. A
// trusted height of 0 stands for any height. Offline asks no node.
func (f *Checked) Offline(t light.Trust) (Verdict, error) {
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
func (f *Checked) Against(ctx context.Context, h light.Headers, t light.Trust) (Verdict, error) {
	b, err := f.Verify(ctx, h)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	v := VerdictOn(fmt.Sprintf("model after epoch %d round %d", f.Card.Epoch, f.Card.Round), t, b)
	v.File, v.Format, v.Card = f.Name, f.Format, &CardReport{Card: f.Card}
	return v, nil
}
