//go:build !js

package light

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cmtlight "github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/wait"
)

// ErrStale means that the node's last header is too old, or that its height is below the verified height.
var ErrStale = errors.New("the node is behind its chain")

const (
	// farBehind is the number of missing blocks above which fetching a whole state costs less than executing the blocks.
	farBehind = 64
	// clockDrift is the max time by which a header may be ahead of this clock.
	clockDrift = 10 * time.Second
)

// Home holds the data from which a worker verifies its chain, without trust in its node.
type Home struct {
	Genesis *types.GenesisDoc
	// Trust is a header after the genesis that the operator trusts, and the trusting period. The
	// height is 0 if the operator trusts only the genesis.
	Trust Trust
	// Kept is the path of the file with the last verified header; "" means that none is stored.
	Kept string
	// MaxAge is the max age of the node's last header; 0 means no limit.
	MaxAge time.Duration
}

// verifier advances from one verified state to the next. A block's header has the hash of the state
// before the block. The verifier executes the block on that state, and so knows the new state as
// soon as it has the block. A proof of the new state would need the next header.
type verifier struct {
	Home
	nodes *nodes
	now   func() time.Time

	mu          sync.Mutex
	lastHeader  *types.LightBlock // the last verified header; nil before the first
	state       *app.State        // the verified state; the genesis state while lastHeader is nil
	savedHeader *types.LightBlock // the last header that was written to the file
	cache       sentCache
}

func newVerifier(clients []*client.Client, h Home) (*verifier, error) {
	h.Trust.Period = cmp.Or(h.Trust.Period, DefaultPeriod)
	s, err := genesisState(h.Genesis)
	if err != nil {
		return nil, fmt.Errorf("genesis: %w", err)
	}
	return &verifier{Home: h, nodes: newNodes(clients, h.Genesis.ChainID), now: time.Now, state: s}, nil
}

// advance returns the verified state after the given height. It fails with ErrStale if that height
// is below the height of the verifier's state, or if the last header is older than MaxAge.
func (f *verifier) advance(ctx context.Context, height uint64) (*app.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if height < f.state.Height {
		return nil, fmt.Errorf("%w: it has height %d, proven is %d", ErrStale, height, f.state.Height)
	}
	if height == uint64(f.Genesis.InitialHeight)-1 {
		return f.state, nil // the chain has no block yet
	}
	if f.lastHeader == nil {
		if err := f.begin(ctx); err != nil {
			return nil, err
		}
	}
	if height > f.state.Height+farBehind || f.lastHeader.Height > int64(f.state.Height)+1 {
		if err := f.jump(ctx); err != nil {
			return nil, err
		}
	}
	for f.state.Height < height {
		if err := f.step(ctx); err != nil {
			return nil, err
		}
	}
	if age := f.now().Sub(f.lastHeader.Time); f.MaxAge > 0 && age > f.MaxAge {
		return nil, fmt.Errorf("%w: its last header, of height %d, is of %s, more than %v ago: it catches up, hides "+
			"blocks, or a clock is wrong",
			ErrStale, f.lastHeader.Height, f.lastHeader.Time.Format(time.RFC3339), f.MaxAge)
	}
	return f.state, f.save()
}

// begin sets lastHeader to the header at which trust begins.
func (f *verifier) begin(ctx context.Context) error {
	b, err := f.trustRoot(ctx)
	if err == nil {
		f.lastHeader = b
	}
	return err
}

// save writes the last header to the file, at most once in 30 s of header time.
func (f *verifier) save() error {
	if f.savedHeader != nil && f.lastHeader.Time.Sub(f.savedHeader.Time) < 30*time.Second {
		return nil
	}
	f.savedHeader = f.lastHeader
	return f.keep(f.lastHeader)
}

// header verifies and returns the header at the given height, by the rules of CometBFT's light client. That height must
// not be below the height of the last verified header, the only header that the verifier stores.
func (f *verifier) header(ctx context.Context, height int64) (*types.LightBlock, error) {
	for at := height; f.lastHeader.Height < height; {
		b, err := f.nodes.current().provider.LightBlock(ctx, at)
		if err != nil {
			return nil, rewordError(at, err)
		}
		last := f.lastHeader
		err = cmtlight.Verify(last.SignedHeader, last.ValidatorSet, b.SignedHeader, b.ValidatorSet, f.Trust.Period,
			f.now(), clockDrift, cmtlight.DefaultTrustLevel)
		var few cmtlight.ErrNewValSetCantBeTrusted
		switch {
		case err == nil:
			f.lastHeader, at = b, height
		case errors.As(err, &few) && at > f.lastHeader.Height+1: // too many new validators: bisect
			at = (f.lastHeader.Height + at) / 2
		default:
			return nil, rewordError(at, err)
		}
	}
	return f.lastHeader, nil
}

// jump fetches the node's whole state. It accepts the state after it has verified the next header,
// which has the state's hash.
func (f *verifier) jump(ctx context.Context) error {
	answer, err := f.nodes.current().State(ctx)
	if err != nil {
		return err
	}
	s, err := app.DecodeState(answer.Height, answer.Document)
	if err != nil {
		return err
	}
	next := int64(s.Height) + 1
	if s.Height < f.state.Height || next < f.lastHeader.Height {
		return fmt.Errorf("%w: its state is of height %d, proven are %d and the header of %d", ErrStale, s.Height,
			f.state.Height, f.lastHeader.Height)
	}
	for {
		_, err = f.header(ctx, next)
		if !errors.Is(err, provider.ErrHeightTooHigh) {
			break
		}
		if err := wait.For(ctx, defaultPoll); err != nil {
			return fmt.Errorf("the header of height %d, which has the state's hash, is not there yet: %w", next, err)
		}
	}
	if err != nil {
		return err
	}
	return f.accept(s)
}

// step executes the block after the verifier's state.
func (f *verifier) step(ctx context.Context) error {
	height := f.state.Height + 1
	b, err := f.header(ctx, int64(height))
	if err != nil {
		return err
	}
	if err := f.accept(f.state); err != nil {
		return err
	}
	execution, err := f.execution(ctx, b)
	if err != nil {
		return err
	}
	out, err := f.state.SafeExecute(execution)
	if err != nil {
		return fmt.Errorf("block %d: %w", height, err)
	}
	f.state = out.State
	return nil
}

// checkBlock returns an error if block, which comes from an untrusted source, is not valid or does
// not have the hash of the verified header b.
func checkBlock(block *types.Block, b *types.LightBlock) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the node's answer is none: %v", r)
		}
	}()
	if err := block.ValidateBasic(); err != nil {
		return err
	}
	if !bytes.Equal(block.Hash(), b.Hash()) {
		return fmt.Errorf("its hash is %X, its verified header's %X", block.Hash(), b.Hash())
	}
	return nil
}

// accept makes s the verifier's state if s has the chain id and the application hash of the last
// verified header. That header must be of the height after s.
func (f *verifier) accept(s *app.State) error {
	if hash := s.Hash(); !bytes.Equal(f.lastHeader.AppHash, hash[:]) || s.ChainID != f.lastHeader.ChainID {
		return fmt.Errorf("%w: the state after height %d on chain %q has hash %X, the header of height %d on "+
			"chain %q says %X",
			proof.ErrNotProven, s.Height, s.ChainID, hash, f.lastHeader.Height, f.lastHeader.ChainID, f.lastHeader.AppHash)
	}
	f.state = s
	return nil
}
