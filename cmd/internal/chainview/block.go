package chainview

import (
	"context"
	"fmt"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Block returns the block of a height, and its hash.
func (r *Reader) Block(height int64) (*cmttypes.Block, cmttypes.BlockID) {
	if r.err != nil {
		return nil, cmttypes.BlockID{}
	}
	got, err := r.rpc.Block(r.Ctx, &height)
	if err == nil && got.Block == nil {
		err = fmt.Errorf("%w: block %d", ErrNotFound, height)
	}
	if r.err = err; err != nil {
		return nil, cmttypes.BlockID{}
	}
	return got.Block, got.BlockID
}

// BlockResults returns the results of a block's transactions and its events, or false if the node does not keep them.
func (r *Reader) BlockResults(height int64) (txs []*abcitypes.ExecTxResult, events []abcitypes.Event, kept bool) {
	results, err := r.rpc.BlockResults(r.Ctx, &height)
	if err != nil {
		if !Missing(err) {
			r.Fail(err)
		}
		return nil, nil, false
	}
	return results.TxsResults, results.FinalizeBlockEvents, true
}

// EpsilonAt returns the epsilon of the round that a block closed, from the block's events. It
// returns nil if the node does not keep the block's results, or if the chain has no guarantee.
func (r *Reader) EpsilonAt(height uint64) *float64 {
	_, events, _ := r.Chain.Reader(r.Ctx).BlockResults(int64(height))
	return client.EpsilonIn(events)
}

// A Turn is what a block did for a round: its transactions commit to gradients, or the block closes it.
type Turn struct {
	params.RoundID
	Closes bool
}

// TurnOf returns the turn of a block with these transactions, nil if it has none. It looks at the first one only:
// an aggregate comes first, and so do commitments, which are all for one round (SPEC B1).
func TurnOf(txs cmttypes.Txs) *Turn {
	if len(txs) == 0 {
		return nil
	}
	switch t, err := tx.Decode(txs[0]); {
	case err == nil && t.Aggregate != nil:
		return &Turn{params.RoundID{Epoch: t.Aggregate.Epoch, Round: t.Aggregate.Round}, true}
	case err == nil && t.Commit != nil:
		return &Turn{params.RoundID{Epoch: t.Commit.Epoch, Round: t.Commit.Round}, false}
	}
	return nil
}

// Turn returns the turn of the block of a height, nil if it has none or the node does not have the block.
func (r *Reader) Turn(height int64) *Turn {
	if at, ok := r.turns.Cached(height); ok {
		return at
	}
	b := r.tryBlock(height)
	if b == nil {
		return nil
	}
	at := TurnOf(b.Txs)
	r.turns.Put(height, at)
	return at
}

// tryBlock returns the block of a height, or nil if the node does not have it.
func (r *Reader) tryBlock(height int64) *cmttypes.Block {
	b, _ := r.Chain.Reader(r.Ctx).Block(height)
	return b
}

// EnactmentOf returns the last enactment of a proposal, by the first hexadecimal digits of the proposal's id. It
// returns nil if the node's index of blocks has none, and an error if the node has no index, or not the block.
func EnactmentOf(ctx context.Context, rpc RPC, prefix string) (*client.Enactment, error) {
	one, last := 1, int64(0)
	for _, event := range []string{"enactment", "discard"} {
		found, err := rpc.BlockSearch(ctx, event+".proposal CONTAINS '"+prefix+"'", &one, &one, "desc")
		switch {
		case err != nil:
			return nil, err
		case len(found.Blocks) > 0 && found.Blocks[0] != nil && found.Blocks[0].Block != nil:
			last = max(last, found.Blocks[0].Block.Height)
		case len(found.Blocks) > 0 || found.TotalCount > 0:
			return nil, fmt.Errorf("%w: the block that ended proposal %s", ErrNotFound, prefix)
		}
	}
	if last == 0 {
		return nil, nil
	}
	results, err := rpc.BlockResults(ctx, &last)
	if err != nil {
		return nil, err
	}
	return client.EnactmentIn(results.FinalizeBlockEvents, last, prefix), nil
}

// TimeAt returns the time of the block at a height, zero if the node does not keep it.
func (r *Reader) TimeAt(height uint64) time.Time { return r.Times(height, height)[height] }

// Times returns the times of the blocks in a short range of heights, without blocks that the node does not keep.
func (r *Reader) Times(from, until uint64) map[uint64]time.Time {
	out := map[uint64]time.Time{}
	const most = 200
	metas, _ := r.Headers(int64(from), int64(min(until, from+most-1)))
	for _, m := range metas {
		out[uint64(m.Header.Height)] = m.Header.Time
	}
	return out
}

// Headers returns the block metadata of a range of heights, lowest first. If a request fails, it
// returns the metadata read so far, with the error.
func (r *Reader) Headers(from, until int64) (out []*cmttypes.BlockMeta, err error) {
	const perAnswer = 20 // a node answers at most this number
	for height, asked := from, from; height <= until; height++ {
		m, ok := r.headers.Cached(height)
		if !ok && height >= asked {
			asked = height + perAnswer
			info, err := r.rpc.BlockchainInfo(r.Ctx, height, min(until, asked-1))
			if err != nil {
				return out, err
			}
			for _, m := range info.BlockMetas {
				r.headers.Put(m.Header.Height, m)
			}
			m, ok = r.headers.Cached(height)
		}
		if ok { // false on a state-synced node, which has no earlier blocks
			out = append(out, m)
		}
	}
	return out, nil
}

// Owners maps the addresses of validators, including addresses before a rotation, to participants.
type Owners map[string]*app.Participant

// Owners returns the participants by the addresses of their validators.
func (r *Reader) Owners() Owners {
	people, by := r.Participants(), Owners{}
	add := func(key []byte, p *app.Participant) {
		if address := AddressOf(key); address != "" && by[address] == nil {
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
	return by
}

// AddressOf returns the address of a consensus key, or "" if the bytes are not a key.
func AddressOf(key []byte) string {
	if len(key) != ed25519.PubKeySize {
		return ""
	}
	return ed25519.PubKey(key).Address().String()
}

// ValidatorsAt returns the validators of a height, nil for the last, in the order of its commit.
func (r *Reader) ValidatorsAt(height *int64) (out []*cmttypes.Validator, at int64, err error) {
	per := 100
	for page := 1; page <= 50; page++ {
		got, err := r.rpc.Validators(r.Ctx, height, &page, &per)
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

// Signed returns the addresses of the validators that signed the block of a height, and whether the
// node keeps its commit.
func (r *Reader) Signed(height int64) (map[string]bool, bool) {
	if by, ok := r.commits.Cached(height); ok {
		return by, true
	}
	got, err := r.rpc.Commit(r.Ctx, &height)
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
		r.commits.Put(height, by)
	}
	return by, true
}

// Votes are the precommits on a block, from its successor or, for the last block, from this node.
type Votes struct {
	Round           int32 // the consensus round: how often the proposer changed
	Signed, Missing []Signer
	Unknown         int // validators without a precommit, if the node does not have the validator set
}

// Of returns the number of validators of the height.
func (v Votes) Of() int { return len(v.Signed) + len(v.Missing) + v.Unknown }

// Signer is a validator with its participant, or nil if none is known.
type Signer struct {
	Address string
	Who     *app.Participant
}

// VotesOn returns the votes on the block of a height, or nil if the node does not have them.
func (r *Reader) VotesOn(height int64, who Owners) *Votes {
	got, err := r.rpc.Commit(r.Ctx, &height)
	if err != nil || got.Commit == nil {
		return nil
	}
	all, _, err := r.ValidatorsAt(&height)
	named := err == nil && len(all) == len(got.Commit.Signatures)
	out := &Votes{Round: got.Commit.Round}
	for i, v := range got.Commit.Signatures {
		address := v.ValidatorAddress.String()
		switch signed := v.BlockIDFlag == cmttypes.BlockIDFlagCommit; {
		case signed:
			out.Signed = append(out.Signed, Signer{address, who[address]})
		case named:
			address = all[i].Address.String()
			out.Missing = append(out.Missing, Signer{address, who[address]})
		default:
			out.Unknown++
		}
	}
	return out
}

// Standstill says which validators do not vote for the block that the chain waits for, and before the first block how
// many peers the node has. It returns "" if blocks come.
func (r *Reader) Standstill() string {
	first := r.Course().Status.Height == 0
	if !first && !r.Waits() {
		return ""
	}
	votes, err := client.ReadVotes(r.Ctx, r.rpc, r.Participants())
	net, unknown := r.rpc.NetInfo(r.Ctx)
	switch {
	case err != nil || r.err != nil:
		return "The chain waits, and this node does not say which validators vote."
	case first && unknown == nil && !votes.Fetches():
		return fmt.Sprintf("The chain has not begun: this node waits for block 1. Peers connected: %d; %s.",
			net.NPeers, votes)
	}
	return votes.Standstill() + "."
}

// Transaction returns the transaction of a hash with its place and its result.
func (r *Reader) Transaction(hash []byte) (t cmttypes.Tx, height int64, index uint32, result abcitypes.ExecTxResult) {
	if r.err != nil {
		return
	}
	got, err := r.rpc.Tx(r.Ctx, hash, false)
	if r.err = err; err != nil {
		return
	}
	return got.Tx, got.Height, got.Index, got.TxResult
}

// HashOf returns the hash of the first transaction in the node's index that a query finds, at a height.
func (r *Reader) HashOf(query string, height uint64) (hash []byte) {
	if r.err != nil {
		return nil
	}
	first := 1
	found, err := r.rpc.TxSearch(r.Ctx, fmt.Sprintf("%s AND tx.height=%d", query, height), false, &first, &first, "")
	if err == nil && len(found.Txs) == 0 {
		err = fmt.Errorf("%w: no such transaction in block %d", ErrNotFound, height)
	}
	if r.err = err; err != nil {
		return nil
	}
	return found.Txs[0].Hash
}

// HeightOf returns the height of the block of a hash, 0 if there is none.
func (r *Reader) HeightOf(hash []byte) int64 {
	got, err := r.rpc.BlockByHash(r.Ctx, hash)
	if err != nil && !Missing(err) {
		r.Fail(err)
	}
	if err != nil || got == nil || got.Block == nil {
		return 0
	}
	return got.Block.Height
}
