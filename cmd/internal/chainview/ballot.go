package chainview

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// The max numbers of transactions of a kind, of approvals, and of past proposals that ReadBallot
// requests, and of consecutive blocks in which it looks for the enactment of a proposal.
const readProposals, readApprovals, pastProposals, boundaryBlocks = 20, 100, 20, 8

// proposing are the kinds of transactions that wait for a round boundary.
var proposing = []tx.Kind{tx.KindJoin, tx.KindRemove, tx.KindRestore, tx.KindRotate, tx.KindStartEpoch, tx.KindUpgrade}

// Proposal is a proposal that no longer waits.
type Proposal struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Title  string `json:"title"`
	Hash   string `json:"hash,omitempty"` // hash of its transaction; "" if an approval carried it
	Height int64  `json:"height"`         // of the transaction

	epoch    string  // that it proposes, "" if it proposes none
	proposer *uint32 // nil if it needs no proposer in the consortium
}

// Outcome is the end of a proposal.
type Outcome struct {
	State string `json:"state"`            // Enacted, Rejected, Withdrawn, Expired, Dropped or Unknown
	At    int64  `json:"at,omitempty"`     // height of the block that ended it; 0 if it was dropped
	Who   string `json:"who,omitempty"`    // index of the participant that joined, left or rotated
	Why   string `json:"reason,omitempty"` // the reason of a rejection, or of a drop if it is known
}

// The states of a proposal that no longer waits.
const (
	Enacted   = "enacted"
	Rejected  = "rejected"  // accepted, and not possible at the round boundary
	Withdrawn = "withdrawn" // not accepted, and its approvals were taken back
	Expired   = "expired"   // not accepted in time
	Dropped   = "dropped"   // not accepted; WhyDropped tells why
	Unknown   = "unknown"
)

// Index is the part of a node's RPC that tells of proposals.
type Index interface {
	TxSearch(ctx context.Context, query string, prove bool, page, perPage *int, orderBy string) (*ctypes.ResultTxSearch,
		error)
	BlockResults(ctx context.Context, height *int64) (*ctypes.ResultBlockResults, error)
}

// Ballot is what the node's index of transactions holds about proposals.
type Ballot struct {
	Titles    map[string]string   // by id
	Past      []Proposal          // those that no longer wait, newest first
	Approvals map[string][]uint32 // participants, by id

	// Complete says that Past has all proposals since the node's first block that no longer wait.
	Complete bool

	last map[string]int64 // height of the last approval or withdrawal, by id
}

// ReadBallot searches for the transactions of proposals and approvals. A node without an index has none.
func ReadBallot(ctx context.Context, chain Index, m query.Membership) (*Ballot, error) {
	b := &Ballot{Titles: map[string]string{}, last: map[string]int64{}, Approvals: map[string][]uint32{}}
	names := map[string]string{}
	for _, q := range m.Members {
		names[strconv.FormatUint(uint64(q.Index), 10)] = fmt.Sprintf("%s (#%d)", q.Moniker, q.Index)
	}
	most := 0 // of a kind
	for _, kind := range proposing {
		found, err := having(ctx, chain, kind, readProposals)
		if err != nil {
			return nil, err
		}
		most = max(most, len(found))
		for _, x := range found {
			if t, err := tx.Decode(x.Tx); err == nil {
				b.add(t, x.Height, x.Hash, names)
			}
		}
	}
	approvals, err := having(ctx, chain, tx.KindApprove, readApprovals)
	if err != nil {
		return nil, err
	}
	withdrawals, err := having(ctx, chain, tx.KindWithdraw, readApprovals)
	if err != nil {
		return nil, err
	}
	b.count(append(approvals, withdrawals...), names)
	b.Past = slices.DeleteFunc(b.Past, func(p Proposal) bool {
		return slices.ContainsFunc(m.Proposals, func(q query.Proposal) bool { return q.ID == p.ID })
	})
	slices.SortStableFunc(b.Past, func(p, q Proposal) int { return cmp.Compare(q.Height, p.Height) })
	b.Complete = approvals != nil && most < readProposals && len(b.Past) <= pastProposals
	b.Past = b.Past[:min(len(b.Past), pastProposals)]
	return b, nil
}

// having returns the last transactions of a kind that have a proposal's id, nil if the node has no index.
func having(ctx context.Context, chain Index, kind tx.Kind, most int) ([]*ctypes.ResultTx, error) {
	page := 1
	var refusal *rpctypes.RPCError
	found, err := chain.TxSearch(ctx, kind.String()+".proposal EXISTS", false, &page, &most, "desc")
	switch {
	case errors.As(err, &refusal): // the node has no index
		return nil, nil
	case err != nil:
		return nil, err
	}
	return append([]*ctypes.ResultTx{}, found.Txs...), nil
}

func (b *Ballot) add(t *tx.Tx, height int64, hash []byte, names map[string]string) {
	d, err := app.Describe(t)
	if err != nil {
		return
	}
	id := t.ID()
	p := Proposal{ID: hex.EncodeToString(id[:]), Kind: t.Kind().String(), Height: height,
		Title: titleOf(t.Kind(), d, names), epoch: d.Value("epoch")}
	if d.Sent {
		p.proposer = &d.Participant
	}
	if len(hash) > 0 {
		p.Hash = hex.EncodeToString(hash)
	}
	if d.Sent && p.Kind != tx.KindRotate.String() && d.Value("subject") != strconv.FormatUint(uint64(d.Participant), 10) {
		b.Approvals[p.ID] = []uint32{d.Participant} // the proposer's transaction counts as an approval
	}
	b.Titles[p.ID], b.Past = p.Title, append(b.Past, p)
}

// count counts approvals and withdrawals, in the order of the chain.
func (b *Ballot) count(votes []*ctypes.ResultTx, names map[string]string) {
	slices.SortFunc(votes, func(x, y *ctypes.ResultTx) int {
		return cmp.Or(cmp.Compare(x.Height, y.Height), cmp.Compare(x.Index, y.Index))
	})
	for _, x := range votes {
		t, err := tx.Decode(x.Tx)
		if err != nil {
			continue
		}
		switch vote := t.Body.(type) {
		case *tx.Approve:
			b.vote(vote, x.Height, names)
		case *tx.Withdraw:
			id := hex.EncodeToString(vote.Proposal)
			b.Approvals[id] = slices.DeleteFunc(b.Approvals[id], func(i uint32) bool { return i == vote.Participant })
			b.last[id] = max(b.last[id], x.Height)
		}
	}
}

// vote counts an approval, and adds the Join that it carries.
func (b *Ballot) vote(vote *tx.Approve, height int64, names map[string]string) {
	id := hex.EncodeToString(vote.Proposal)
	if join, err := tx.Decode(vote.Join); err == nil && b.Titles[id] == "" {
		b.add(join, height, nil, names)
	}
	b.Approvals[id] = append(b.Approvals[id], vote.Participant)
	b.last[id] = max(b.last[id], height)
}

// titleOf returns a text that says what a proposal would change.
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

// Heights returns the heights at which the chain may have ended a past proposal: the blocks after its
// last approval or withdrawal, the next of the boundaries, which are sorted, and the height at which it
// expires, up to the last block.
func (b *Ballot) Heights(p Proposal, last int64, boundaries []int64) []int64 {
	from := max(p.Height, b.last[p.ID])
	next, _ := slices.BinarySearch(boundaries, from)
	heights := append(slices.Clone(boundaries[next:min(next+boundaryBlocks, len(boundaries))]), p.Height+app.Lifetime)
	for i := range int64(boundaryBlocks) {
		heights = append(heights, from+i)
	}
	slices.Sort(heights)
	return slices.DeleteFunc(slices.Compact(heights), func(height int64) bool { return height > last })
}

// Decided is a proposal that no longer waits, with its outcome.
type Decided struct {
	Proposal
	Approvals []uint32   `json:"approvals,omitempty"`
	Outcome   Outcome    `json:"outcome"`
	Time      *time.Time `json:"time,omitempty"` // of the block at Outcome.At; nil if it is unknown
}

// Decide returns the past proposals with their outcomes, which find looks for at heights up to the last.
// The boundaries are the heights at which rounds closed, nil if the caller does not know them.
func (b *Ballot) Decide(m query.Membership, epochs []query.EpochState, last int64, boundaries []int64,
	find func(id string, heights []int64) Outcome, timeAt func(height int64) *time.Time) []Decided {
	known := boundaries != nil
	for _, e := range epochs {
		boundaries = append(boundaries, int64(e.Opened)-1)
	}
	slices.Sort(boundaries)
	all := []Decided{}
	for _, p := range b.Past {
		d := Decided{Proposal: p, Approvals: b.Approvals[p.ID], Outcome: find(p.ID, b.Heights(p, last, boundaries))}
		switch {
		case d.Outcome.State == Dropped && !known && len(d.Approvals) >= m.Threshold:
			d.Outcome.State = Unknown // a later round boundary may have enacted it
		case d.Outcome.State == Dropped:
			d.Outcome.Why = p.WhyDropped(m, epochs)
		case d.Outcome.At > 0:
			d.Time = timeAt(d.Outcome.At)
		}
		all = append(all, d)
	}
	return all
}

// Open is a proposal that waits, with its effect.
type Open struct {
	query.Proposal
	query.Effect
	Unknown string     `json:"effect_unknown,omitempty"` // why the effect is unknown
	Time    *time.Time `json:"time,omitempty"`           // of the block at Height; null if the node does not have it
}

// OpenProposals returns the proposals that wait, with their effects on the running parameters.
func OpenProposals(m query.Membership, running params.Params) []Open {
	out := []Open{}
	for _, p := range m.Proposals {
		x := Open{Proposal: p}
		var err error
		if x.Effect, err = m.Effect(p, running); err != nil {
			x.Unknown = err.Error()
		}
		out = append(out, x)
	}
	return out
}

// WhyDropped returns the reason why a boundary dropped a proposal: another proposal opened its epoch,
// or its proposer has left. It returns "" if neither is the case.
func (p Proposal) WhyDropped(m query.Membership, epochs []query.EpochState) string {
	if slices.ContainsFunc(epochs, func(e query.EpochState) bool { return strconv.FormatUint(e.Epoch, 10) == p.epoch }) {
		return "another proposal opened epoch " + p.epoch
	}
	for _, q := range m.Members {
		if p.proposer != nil && q.Index == *p.proposer && !q.Active {
			return "its proposer has left"
		}
	}
	return ""
}

// OutcomeOf returns the outcome of a proposal that no longer waits. It looks for the proposal's end in
// the events of the blocks at the heights.
func OutcomeOf(ctx context.Context, chain Index, id string, heights []int64) Outcome {
	state := Dropped
	for _, height := range heights {
		results, err := chain.BlockResults(ctx, &height)
		if err != nil { // not kept, or not answered
			state = Unknown
			continue
		}
		if e := client.EnactmentIn(results.FinalizeBlockEvents, height, id); e != nil {
			out := Outcome{State: cmp.Or(e.Discarded, Enacted), At: height, Who: e.Participant}
			if e.Refused != "" {
				out.State, out.Why = Rejected, ruleLast(e.Refused)
			}
			return out
		}
	}
	return Outcome{State: state}
}

// ruleLast puts the number of the violated rule behind the text of an error.
func ruleLast(text string) string {
	rule, rest := app.SplitRule(text)
	if rule == "" {
		return text
	}
	return rest + " (" + rule + ")"
}
