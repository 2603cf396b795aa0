package explorer

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// epsilonAt returns the epsilon of the round that a block closed, from the block's events. It
// returns nil if the node does not keep the block's results, or if the chain has no guarantee.
func (s *source) epsilonAt(ctx context.Context, height uint64) *float64 {
	h := int64(height)
	results, err := s.blocks.BlockResults(ctx, &h)
	if err != nil {
		return nil
	}
	return client.EpsilonIn(results.FinalizeBlockEvents)
}

// commitsIn returns the round of the commitments in a block. It returns nil if the block has none,
// or if the node does not have the block. It looks at the first transaction only, because
// commitments come first and all are for one round.
func (s *source) commitsIn(ctx context.Context, height int64) *params.RoundID {
	if at, ok := s.committed.Cached(height); ok {
		return at
	}
	got, err := s.blocks.Block(ctx, &height)
	if err != nil || got.Block == nil {
		return nil
	}
	var at *params.RoundID
	if txs := got.Block.Txs; len(txs) > 0 {
		if t, err := tx.Decode(txs[0]); err == nil && t.Commit != nil {
			at = &params.RoundID{Epoch: t.Commit.Epoch, Round: t.Commit.Round}
		}
	}
	s.committed.Put(height, at)
	return at
}

// times returns the times of the blocks in a short range of heights, without blocks that the node
// does not keep.
func (s *source) times(ctx context.Context, from, until uint64) map[uint64]time.Time {
	out := map[uint64]time.Time{}
	const most = 200
	metas, _ := s.metas(ctx, int64(from), int64(min(until, from+most-1)))
	for _, m := range metas {
		out[uint64(m.Header.Height)] = m.Header.Time
	}
	return out
}

// timeAt returns the time of the block at a height, nil if the node does not keep it.
func (s *source) timeAt(ctx context.Context, height uint64) *time.Time {
	at, ok := s.times(ctx, height, height)[height]
	if !ok {
		return nil
	}
	return &at
}

// metas returns the block metadata of a range of heights, lowest first. If a request fails, it
// returns the metadata read so far, with the error.
func (s *source) metas(ctx context.Context, from, until int64) (out []*cmttypes.BlockMeta, err error) {
	const perAnswer = 20 // a node answers at most this number
	for height, asked := from, from; height <= until; height++ {
		m, ok := s.headers.Cached(height)
		if !ok && height >= asked {
			asked = height + perAnswer
			if err = s.readMetas(ctx, height, min(until, asked-1)); err != nil {
				return out, err
			}
			m, ok = s.headers.Cached(height)
		}
		if ok { // false on a state-synced node, which has no earlier blocks
			out = append(out, m)
		}
	}
	return out, nil
}

// readMetas requests the metadata of at most perAnswer blocks.
func (s *source) readMetas(ctx context.Context, from, until int64) error {
	info, err := s.blocks.BlockchainInfo(ctx, from, until)
	if err != nil {
		return err
	}
	for _, m := range info.BlockMetas {
		s.headers.Put(m.Header.Height, m)
	}
	return nil
}

// owners maps the addresses of validators, including addresses before a rotation, to participants.
type owners map[string]*app.Participant

// owners queries the participants.
func (s *source) owners(ctx context.Context) (owners, error) {
	people, err := s.participants(ctx)
	if err != nil {
		return nil, err
	}
	by := owners{}
	add := func(key []byte, p *app.Participant) {
		if address := addressOf(key); address != "" && by[address] == nil {
			by[address] = p
		}
	}
	for i := range people {
		add(people[i].ConsensusKey, &people[i])
	}
	for i := range people {
		for _, former := range people[i].FormerValidators {
			add(former.ConsensusKey, &people[i])
		}
	}
	return by, nil
}

// addressOf returns the address of a consensus key, or "" if the bytes are not a key.
func addressOf(key []byte) string {
	if len(key) != ed25519.PubKeySize {
		return ""
	}
	return ed25519.PubKey(key).Address().String()
}

// validatorsAt returns the validators of a height, in the order of its commit.
func (s *source) validatorsAt(ctx context.Context, height *int64) (out []*cmttypes.Validator, at int64, err error) {
	per := 100
	for page := 1; page <= 50; page++ {
		got, err := s.blocks.Validators(ctx, height, &page, &per)
		if err != nil {
			return nil, 0, err
		}
		out, at = append(out, got.Validators...), got.BlockHeight
		if len(got.Validators) == 0 || len(out) >= got.Total {
			break
		}
	}
	return out, at, nil
}

// signed returns the addresses of the validators that signed the block of a height, and whether the
// node keeps its commit.
func (s *source) signed(ctx context.Context, height int64) (map[string]bool, bool) {
	if by, ok := s.commits.Cached(height); ok {
		return by, true
	}
	got, err := s.blocks.Commit(ctx, &height)
	if err != nil || got.Commit == nil {
		return nil, false
	}
	by := map[string]bool{}
	for _, v := range got.Commit.Signatures {
		if v.BlockIDFlag == cmttypes.BlockIDFlagCommit {
			by[v.ValidatorAddress.String()] = true
		}
	}
	if got.CanonicalCommit { // the commit of the last height is this node's own, and may grow
		s.commits.Put(height, by)
	}
	return by, true
}
