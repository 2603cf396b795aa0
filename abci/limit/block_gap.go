package limit

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/cometbft/cometbft/p2p"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// BlockGap finds out that a node can never catch up, because its peers have dropped the block that
// it needs next (retain in app.toml). CometBFT v0.40.0 takes such a node for one that has caught up:
// its block sync does not count peers that cannot send the next block. A BlockGap shows block sync
// only peers that can, or that need the same block. Without a peer, block sync goes on.
type BlockGap struct {
	state  func() *app.State // nil until the chain's begin, or the end of state sync
	trusts func(p2p.ID) bool
	blocks p2p.Reactor // CometBFT's block sync

	mu     sync.Mutex
	ranges map[p2p.ID]*blockRange // by connected peer
}

// blockRange is the range of blocks that a peer has, by its last report.
type blockRange struct {
	*cmtsync.StatusResponse
	report  p2p.Envelope
	isNew   bool // whether Review has not seen the report
	isShown bool // whether block sync counts the peer
}

// NewBlockGap returns the BlockGap of a node with a chain state. Only the reports of peers that
// trusts returns true for show a gap.
func NewBlockGap(state func() *app.State, trusts func(p2p.ID) bool) *BlockGap {
	return &BlockGap{state: state, trusts: trusts, ranges: map[p2p.ID]*blockRange{}}
}

// Missing returns the height of the block that this node needs next and the lowest height that its peers still have,
// if the node cannot catch up. Otherwise it returns zeros. A node cannot catch up if no trusted peer has the next
// block, and either more than f members, one of them honest, or all trusted peers have only later blocks.
func (g *BlockGap) Missing() (next, oldest int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.missing()
}

func (g *BlockGap) missing() (next, oldest int64) {
	s := g.state()
	if s == nil {
		return 0, 0
	}
	next = int64(s.Height) + 1
	ahead, isBehind := map[string]bool{}, false
	for id, r := range g.ranges {
		switch {
		case !g.trusts(id):
		case r.Base > next:
			ahead[ownerOf(s, id)] = true
			if oldest == 0 || r.Base < oldest {
				oldest = r.Base
			}
		case r.Height >= next:
			return 0, 0
		default:
			isBehind = true
		}
	}
	if len(ahead) == 0 || isBehind && len(ahead) <= params.MaxByzantine(s.Validators()) {
		return 0, 0
	}
	return next, oldest
}

// ownerOf names the participant that has registered a node, or the node itself if none has: several
// nodes of one member count once.
func ownerOf(s *app.State, id p2p.ID) string {
	for i := range s.Participants {
		if slices.Contains(s.Participants[i].NodeIds, string(id)) {
			return strconv.Itoa(i)
		}
	}
	return string(id)
}

// Review shows block sync the peers that can help this node at its height, and hides the others. The
// caller calls it again and again while the node catches up.
func (g *BlockGap) Review() {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := int64(1)
	if s := g.state(); s != nil {
		next += int64(s.Height)
	}
	maps.DeleteFunc(g.ranges, func(_ p2p.ID, r *blockRange) bool { return !r.report.Src.IsRunning() })
	missing, _ := g.missing()
	for _, r := range g.ranges {
		helps := r.Base <= next && (missing == 0 || r.Height >= next)
		switch {
		case helps && (r.isNew || !r.isShown):
			g.blocks.Receive(r.report)
		case !helps && r.isShown:
			g.blocks.RemovePeer(r.report.Src, nil)
		}
		r.isNew, r.isShown = false, helps
	}
}

// observe records a peer's report of its range.
func (g *BlockGap) observe(report p2p.Envelope, r *cmtsync.StatusResponse) {
	g.mu.Lock()
	last := g.ranges[report.Src.ID()]
	g.ranges[report.Src.ID()] = &blockRange{StatusResponse: r, report: report, isNew: true,
		isShown: last != nil && last.isShown}
	g.mu.Unlock()
	g.Review()
}
