package reactor

import (
	"bytes"
	mathbits "math/bits"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/consensus"
	cstypes "github.com/cometbft/cometbft/consensus/types"
	"github.com/cometbft/cometbft/libs/bits"
	"github.com/cometbft/cometbft/p2p"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app/tx"
)

const (
	// requestPause is the time for which a node waits for a block's transactions that no peer has
	// announced. After the pause the node requests the parts that need these transactions.
	requestPause = 50 * time.Millisecond
	// answerPause is the min time for which a node waits for announced transactions, or for the
	// answer to a request. BlockReactor.answerPause adds half of a round's transfer time.
	answerPause = 200 * time.Millisecond
)

// offer is the last compact block that a peer has sent, and the state of rebuilding it.
type offer struct {
	peer  p2p.Peer
	block *compactBlock

	parts     *types.PartSet // the part set of consensus that missingTx and rebuilt refer to
	missingTx *hash          // the first transaction that the last attempt lacked; the next attempt waits for it; or nil
	rebuilt   int            // the number of parts that were rebuilt from this offer
}

// offers holds the last offer of each peer, in the order of arrival.
type offers struct {
	wake wakeup // makes rebuild look at the offers again

	mu   sync.Mutex
	list []*offer
}

// add adds an offer, in place of the peer's earlier offer.
func (o *offers) add(x *offer) {
	o.remove(x.peer)
	o.mu.Lock()
	defer o.mu.Unlock()
	if x.peer.IsRunning() { // RemovePeer may already have run for a stopped peer
		o.list = append(o.list, x)
	}
	o.wake.signal()
}

// remove removes the offer of a peer.
func (o *offers) remove(peer p2p.Peer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, func(x *offer) bool { return x.peer.ID() == peer.ID() })
}

// again returns the offer of a peer at a height whose parts have the given leaves, or nil. Consensus may
// have dropped the parts that were rebuilt from the offer: that is why its peer sends it again.
func (o *offers) again(peer p2p.Peer, height int64, leaves []byte) *offer {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.list {
		if x.block.Height == height && x.peer.ID() == peer.ID() && bytes.Equal(x.block.Leaves, leaves) {
			o.wake.signal()
			return x
		}
	}
	return nil
}

// offersOf returns the offers of the block with the given parts at the given height. others reports
// whether there are offers of other blocks. It removes the offers of lower heights. It keeps those of
// greater heights, because consensus may have reached them since the caller looked at its height.
func (o *offers) offersOf(height int64, parts *types.PartSet) (list []*offer, others bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, func(x *offer) bool { return x.block.Height < height })
	list = slices.DeleteFunc(slices.Clone(o.list), func(x *offer) bool {
		return x.block.Height != height || !parts.HasHeader(x.block.header)
	})
	return list, len(list) < len(o.list)
}

// assembly is the state of rebuilding the block whose parts consensus collects.
type assembly struct {
	parts       *types.PartSet
	handed      *bits.BitArray // the parts that step has handed to consensus
	count       int            // the number of parts stored in consensus or handed to it, at the last call of requestParts
	requestTime time.Time
	requests    int // the number of calls of requestParts that sent requests
}

// rebuild hands rebuilt parts of the offered blocks to consensus until the node stops.
func (r *BlockReactor) rebuild() {
	a := new(assembly)
	for {
		select {
		case <-r.Quit():
			return
		case <-r.offers.wake:
		}
		for r.step(a) {
			select {
			case <-r.Quit():
				return
			case <-r.offers.wake:
			case <-time.After(blockTick):
			}
		}
	}
}

// step hands to consensus the parts that can be rebuilt now, and requests the other parts after a
// pause. If consensus has begun to collect another part set, step starts over. isMissing is true if
// step must be called again, because parts are missing or another block is offered.
func (r *BlockReactor) step(a *assembly) (isMissing bool) {
	rs := r.round()
	list, others := r.offers.offersOf(rs.Height, rs.ProposalBlockParts)
	if len(list) == 0 {
		return others
	}
	if parts := rs.ProposalBlockParts; a.parts != parts {
		*a = assembly{parts: parts, handed: bits.NewBitArray(int(parts.Total()))}
	}
	taken := a.parts.BitArray()
	if taken.IsFull() {
		return others
	}
	has := taken.Or(a.handed)
	for _, x := range list {
		if !r.handOver(rs, a, x, has) {
			return true
		}
	}
	if !has.IsFull() {
		r.requestParts(a, list, has)
	}
	return true
}

// handOver rebuilds parts from an offer and passes them to consensus. If the offer is forged,
// handOver disconnects the sender of the offer and returns false.
func (r *BlockReactor) handOver(rs *cstypes.RoundState, a *assembly, x *offer, has *bits.BitArray) bool {
	if x.parts == a.parts && (x.missingTx == nil || r.pool.PoolTx(*x.missingTx) == nil) {
		return true
	}
	if x.parts != a.parts {
		x.rebuilt = 0
	}
	x.parts, x.missingTx = a.parts, nil
	for i := range int(a.parts.Total()) {
		if has.GetIndex(i) {
			continue
		}
		part, missing, err := x.block.rebuildPart(i, func(h hash) *tx.Tx { return r.pool.PoolTx(h) })
		if err != nil {
			r.offers.remove(x.peer)
			r.sw.StopPeerForError(x.peer, err)
			return false
		}
		if part == nil {
			if x.missingTx == nil {
				x.missingTx = &missing
			}
			continue
		}
		has.SetIndex(i, true)
		a.handed.SetIndex(i, true)
		x.rebuilt++
		r.metrics.Add("block_parts_total", 1, metrics.PartsRebuilt)
		r.deliver(p2p.Envelope{Src: x.peer, ChannelID: consensus.DataChannel,
			Message: &cmtcons.BlockPart{Height: rs.Height, Round: rs.Round, Part: *part}})
	}
	if x.rebuilt == int(a.parts.Total()) {
		r.keep(x.block)
	}
	return true
}

// requestParts requests the parts that cannot be rebuilt. It first asks one peer that has offered
// the block. After each pause without a new part it asks twice as many peers. Known nodes come
// before strangers, and earlier offers before later ones.
func (r *BlockReactor) requestParts(a *assembly, list []*offer, has *bits.BitArray) {
	now, bitmap, count := time.Now(), has.ToProto().Elems, 0
	for _, word := range bitmap {
		count += mathbits.OnesCount64(word)
	}
	switch {
	case a.requestTime.IsZero():
		a.requestTime = now.Add(requestPause)
		if slices.ContainsFunc(list, func(x *offer) bool { return x.missingTx != nil && r.isExpected(*x.missingTx) }) {
			a.requestTime = now.Add(r.answerPause())
		}
	case a.requests > 0 && count > a.count:
		a.requestTime = now.Add(r.answerPause())
	case now.Before(a.requestTime):
	default:
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(x, y *offer) int { return r.stranger(x.peer) - r.stranger(y.peer) })
		want := &PartRequest{Height: list[0].block.Height, Total: a.parts.Total(), Root: a.parts.Hash(), Has: bitmap}
		for _, x := range list[:min(len(list), 1<<min(a.requests, 16))] {
			x.peer.TrySend(p2p.Envelope{ChannelID: blockChannel, Message: &BlockGossip{Want: want}})
		}
		if a.requests == 0 {
			r.metrics.Add("block_parts_total", float64(int(a.parts.Total())-count), metrics.PartsRequested)
		}
		a.requests++
		a.requestTime = now.Add(r.answerPause())
	}
	a.count = count
}

// stranger returns 0 for a known node and 1 for any other peer, as a sort key.
func (r *BlockReactor) stranger(p p2p.Peer) int {
	if r.isTrusted == nil || r.isTrusted(p.ID()) {
		return 0
	}
	return 1
}

// answerPause returns the constant answerPause plus half of the transfer time of a round.
func (r *BlockReactor) answerPause() time.Duration {
	pause := answerPause
	if s := r.pool.State(); s != nil {
		pause += limit.TransferTime(s.Params, s.Participants) / 2
	}
	return pause
}
