package explorer

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// The max numbers of transactions of a kind, of approvals, and of past proposals that are read; and of
// consecutive blocks in which the enactment of a proposal is looked for.
const readProposals, readApprovals, pastProposals, boundaryBlocks = 20, 100, 20, 8

// proposing are the kinds of transactions that wait for a round boundary.
var proposing = []tx.Kind{tx.KindJoin, tx.KindRemove, tx.KindRestore, tx.KindRotate, tx.KindStartEpoch, tx.KindUpgrade}

// pastProposal is a proposal that does not wait any more.
type pastProposal struct {
	ID, Kind, Title, Hash string // Hash is its transaction's, "" if an approval carried it
	Height                int64  // of the transaction
	For                   []person
	Outcome               outcome
}

// outcome is the end of a proposal.
type outcome struct {
	State string // enacted, rejected, dropped or unknown
	At    int64  // height of the round boundary, 0 if it was dropped
	Why   string // it was rejected
}

// ballot is what the node's index of transactions says about proposals.
type ballot struct {
	titles    map[string]string // by id
	past      []pastProposal    // that do not wait, newest first, without their outcome
	last      map[string]int64  // height of the last approval, by id
	approvals map[string][]uint32
}

// ballot searches the transactions of proposals and approvals.
func (s *Server) ballot(ctx context.Context, m query.Membership) (*ballot, error) {
	b := &ballot{titles: map[string]string{}, last: map[string]int64{}, approvals: map[string][]uint32{}}
	names := map[string]string{}
	for _, q := range m.Members {
		names[strconv.FormatUint(uint64(q.Index), 10)] = fmt.Sprintf("%s (#%d)", q.Moniker, q.Index)
	}
	for _, kind := range proposing {
		found, err := s.source.having(ctx, kind, readProposals)
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if t, err := tx.Decode(x.Tx); err == nil {
				b.add(t, x.Height, x.Hash, names)
			}
		}
	}
	found, err := s.source.having(ctx, tx.KindApprove, readApprovals)
	if err != nil {
		return nil, err
	}
	for _, x := range found {
		t, err := tx.Decode(x.Tx)
		if err != nil {
			continue
		}
		if vote, ok := t.Body.(*tx.Approve); ok {
			b.vote(vote, x.Height, names)
		}
	}
	b.past = slices.DeleteFunc(b.past, func(p pastProposal) bool {
		return slices.ContainsFunc(m.Proposals, func(q query.Proposal) bool { return q.ID == p.ID })
	})
	slices.SortStableFunc(b.past, func(p, q pastProposal) int { return cmp.Compare(q.Height, p.Height) })
	b.past = b.past[:min(len(b.past), pastProposals)]
	return b, nil
}

// having returns the last transactions of a kind that have a proposal's id.
func (s *source) having(ctx context.Context, kind tx.Kind, most int) ([]*ctypes.ResultTx, error) {
	page := 1
	found, err := s.blocks.TxSearch(ctx, kind.String()+".proposal EXISTS", false, &page, &most, "desc")
	switch {
	case absent(err): // the node has no index
		return nil, nil
	case err != nil:
		return nil, err
	}
	return found.Txs, nil
}

func (b *ballot) add(t *tx.Tx, height int64, hash []byte, names map[string]string) {
	d, err := app.Describe(t)
	if err != nil {
		return
	}
	id := t.ID()
	p := pastProposal{ID: hex.EncodeToString(id[:]), Kind: t.Kind().String(), Height: height,
		Title: titleOf(t.Kind(), d, names)}
	if len(hash) > 0 {
		p.Hash = hex.EncodeToString(hash)
	}
	if d.Sent && p.Kind != tx.KindRotate.String() && d.Value("subject") != strconv.FormatUint(uint64(d.Participant), 10) {
		b.approvals[p.ID] = []uint32{d.Participant} // a proposer approves
	}
	b.titles[p.ID], b.past = p.Title, append(b.past, p)
}

// vote counts an approval, and adds the Join that it carries.
func (b *ballot) vote(vote *tx.Approve, height int64, names map[string]string) {
	id := hex.EncodeToString(vote.Proposal)
	if join, err := tx.Decode(vote.Join); err == nil && b.titles[id] == "" {
		b.add(join, height, nil, names)
	}
	b.approvals[id] = append(b.approvals[id], vote.Participant)
	b.last[id] = max(b.last[id], height)
}

// titleOf returns what a proposal proposes.
func titleOf(kind tx.Kind, d app.Description, names map[string]string) string {
	from := strconv.FormatUint(uint64(d.Participant), 10)
	subject := d.Value("subject")
	switch kind.String() {
	case "remove":
		if subject == from {
			return names[from] + " leaves"
		}
		return "Remove " + names[subject]
	case "restore":
		return "Restore the reputation of " + names[subject]
	case "rotate":
		return names[from] + " replaces keys or nodes"
	case "join":
		return "Admit " + d.Value("moniker")
	case "start-epoch":
		return "Start epoch " + d.Value("epoch")
	case "upgrade":
		if d.Value("version") == "" {
			return "Cancel the upgrade " + d.Value("name")
		}
		return fmt.Sprintf("Upgrade %s: version %s from height %s on", d.Value("name"), d.Value("version"),
			d.Value("upgrade_height"))
	}
	return d.Summary
}

// past returns the proposals that do not wait any more, newest first, with their outcomes.
func (s *Server) past(ctx context.Context, b *ballot, m query.Membership) ([]pastProposal, error) {
	epochs, err := known[[]query.EpochState](ctx, s.source, "/epochs")
	if err != nil {
		return nil, err
	}
	status, _, _, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	var boundaries []int64 // at which rounds closed, or epochs began
	for height := range s.closedAt() {
		boundaries = append(boundaries, int64(height))
	}
	for _, e := range epochs {
		boundaries = append(boundaries, int64(e.Opened)-1)
	}
	slices.Sort(boundaries)
	for i := range b.past {
		p := &b.past[i]
		for _, q := range m.Members {
			if slices.Contains(b.approvals[p.ID], q.Index) {
				p.For = append(p.For, person{q.Index, q.Moniker})
			}
		}
		from := max(p.Height, b.last[p.ID])
		p.Outcome = *s.source.outcomeOf(ctx, p.ID, heightsFrom(from, int64(status.Height), boundaries))
	}
	return b.past, nil
}

// heightsFrom returns the heights at which a proposal may be enacted whose last approval is at a height:
// the next blocks, and the next boundaries, up to the last block.
func heightsFrom(from, last int64, boundaries []int64) []int64 {
	next, _ := slices.BinarySearch(boundaries, from)
	heights := slices.Clone(boundaries[next:min(next+boundaryBlocks, len(boundaries))])
	for i := range int64(boundaryBlocks) {
		heights = append(heights, from+i)
	}
	slices.Sort(heights)
	return slices.DeleteFunc(slices.Compact(heights), func(height int64) bool { return height > last })
}

// outcomeOf returns the end of a proposal that does not wait any more: it looks for its enactment in
// the blocks of the heights.
func (s *source) outcomeOf(ctx context.Context, id string, heights []int64) *outcome {
	if out, ok := s.outcomes.Cached(id); ok {
		return out
	}
	out := &outcome{State: "dropped"}
	for _, height := range heights {
		results, err := s.blocks.BlockResults(ctx, &height)
		if err != nil { // not kept, or not answered
			out.State = "unknown"
			continue
		}
		if e := client.EnactmentIn(results.FinalizeBlockEvents, height, id); e != nil {
			out = &outcome{State: "enacted", At: height}
			if e.Refused != "" {
				out.State, out.Why = "rejected", e.Refused
			}
			break
		}
	}
	if out.State != "unknown" {
		s.outcomes.Put(id, out)
	}
	return out
}
