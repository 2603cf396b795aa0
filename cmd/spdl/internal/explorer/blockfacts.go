package explorer

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// epsilonAt returns the epsilon in the event of the round that a block closed; nil where the node does not
// keep the block's results, or nothing is guaranteed.
func (s *source) epsilonAt(ctx context.Context, height uint64) *float64 {
	h := int64(height)
	results, err := s.blocks.BlockResults(ctx, &h)
	if err != nil {
		return nil
	}
	for _, e := range results.FinalizeBlockEvents {
		for _, a := range e.Attributes {
			if e.Type != "round" || a.Key != "epsilon" {
				continue
			}
			if x, err := strconv.ParseFloat(a.Value, 64); err == nil {
				return finite(x)
			}
		}
	}
	return nil
}

// closing is what a block says of the round that it closed.
type closing struct {
	Time      time.Time
	Gradients []string // hashes of the transactions, in the order of the record's contributions
	Aggregate string
}

// closingOf reads the block that closed a round: first its aggregate, then the gradients. It returns nil
// where the node does not keep the block.
func (s *source) closingOf(ctx context.Context, r *app.Record) *closing {
	h := int64(r.Height)
	got, err := s.blocks.Block(ctx, &h)
	if err != nil || got.Block == nil || len(got.Block.Txs) < 1+len(r.Contributions) {
		return nil
	}
	c := &closing{Time: got.Block.Time, Aggregate: hex.EncodeToString(got.Block.Txs[0].Hash())}
	for i := range r.Contributions {
		c.Gradients = append(c.Gradients, hex.EncodeToString(got.Block.Txs[1+i].Hash()))
	}
	return c
}

// times returns when the blocks from one height to another were made, as far as the node keeps them: of
// few heights, because a node answers for 20 at a time.
func (s *source) times(ctx context.Context, from, until uint64) map[uint64]time.Time {
	out := map[uint64]time.Time{}
	const perAnswer, most = 20, 200
	for ; from <= until && len(out) < most; from += perAnswer {
		info, err := s.blocks.BlockchainInfo(ctx, int64(from), int64(min(until, from+perAnswer-1)))
		if err != nil {
			return out
		}
		for _, m := range info.BlockMetas {
			out[uint64(m.Header.Height)] = m.Header.Time
		}
	}
	return out
}

// owners are the participants by the address of their validator. Those before a rotation count too.
type owners map[string]*app.Participant

// owners asks who the participants are.
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

// addressOf returns the address of a consensus key, "" of what is none.
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

// signed returns the addresses of the validators that signed the block of a height, and whether the node
// keeps its commit.
func (s *source) signed(ctx context.Context, height int64) (map[string]bool, bool) {
	s.mu.Lock()
	by, ok := s.commits.get(height)
	s.mu.Unlock()
	if ok {
		return by, true
	}
	got, err := s.blocks.Commit(ctx, &height)
	if err != nil || got.Commit == nil {
		return nil, false
	}
	by = map[string]bool{}
	for _, v := range got.Commit.Signatures {
		if v.BlockIDFlag == cmttypes.BlockIDFlagCommit {
			by[v.ValidatorAddress.String()] = true
		}
	}
	if got.CanonicalCommit { // the last one is this node's view, and may grow
		s.mu.Lock()
		s.commits.put(height, by, 1+len(by))
		s.mu.Unlock()
	}
	return by, true
}
