package chainview

import (
	"cmp"
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

// The max numbers of transactions of a kind, of approvals, and of past proposals that a Reader
// requests, and of blocks in which it looks for the end of a proposal before it asks the node's index.
const readProposals, readApprovals, pastProposals, nearBlocks = 20, 100, 20, 8

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
	Dropped   = "dropped"   // not accepted; whyDropped tells why
	Unknown   = "unknown"
)

// A ballot is what the node's index of transactions holds about proposals.
type ballot struct {
	titles    map[string]string   // by id
	past      []Proposal          // those that no longer wait, newest first
	approvals map[string][]uint32 // participants, by id
	complete  bool                // past has all proposals since the node's first block that no longer wait
	last      map[string]int64    // height of the last approval or withdrawal, by id
}

// ballot searches for the transactions of proposals and approvals. A node without an index has none.
func (r *Reader) ballot(m query.Membership) *ballot {
	b := &ballot{titles: map[string]string{}, last: map[string]int64{}, approvals: map[string][]uint32{}}
	names := map[string]string{}
	for _, q := range m.Members {
		names[strconv.FormatUint(uint64(q.Index), 10)] = fmt.Sprintf("%s (#%d)", q.Moniker, q.Index)
	}
	most := 0 // of a kind
	for _, kind := range proposing {
		found := r.having(kind, readProposals)
		most = max(most, len(found))
		for _, x := range found {
			if t, err := tx.Decode(x.Tx); err == nil {
				b.add(t, x.Height, x.Hash, names)
			}
		}
	}
	approvals := r.having(tx.KindApprove, readApprovals)
	b.count(append(approvals, r.having(tx.KindWithdraw, readApprovals)...), names)
	b.past = slices.DeleteFunc(b.past, func(p Proposal) bool {
		return slices.ContainsFunc(m.Proposals, func(q query.Proposal) bool { return q.ID == p.ID })
	})
	slices.SortStableFunc(b.past, func(p, q Proposal) int { return cmp.Compare(q.Height, p.Height) })
	b.complete = approvals != nil && most < readProposals && len(b.past) <= pastProposals
	b.past = b.past[:min(len(b.past), pastProposals)]
	return b
}

// having returns the last transactions of a kind that have a proposal's id, nil if the node has no index.
func (r *Reader) having(kind tx.Kind, most int) []*ctypes.ResultTx {
	page := 1
	var refusal *rpctypes.RPCError
	if r.err != nil {
		return nil
	}
	found, err := r.rpc.TxSearch(r.Ctx, kind.String()+".proposal EXISTS", false, &page, &most, "desc")
	switch {
	case errors.As(err, &refusal):
		return nil
	case err != nil:
		r.err = fmt.Errorf("%w: %w", client.ErrUnreachable, err)
		return nil
	}
	return append([]*ctypes.ResultTx{}, found.Txs...)
}

func (b *ballot) add(t *tx.Tx, height int64, hash []byte, names map[string]string) {
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
		b.approvals[p.ID] = []uint32{d.Participant} // the proposer's transaction counts as an approval
	}
	b.titles[p.ID], b.past = p.Title, append(b.past, p)
}

// count counts approvals and withdrawals, in the order of the chain.
func (b *ballot) count(all []*ctypes.ResultTx, names map[string]string) {
	slices.SortFunc(all, func(x, y *ctypes.ResultTx) int {
		return cmp.Or(cmp.Compare(x.Height, y.Height), cmp.Compare(x.Index, y.Index))
	})
	for _, x := range all {
		t, err := tx.Decode(x.Tx)
		if err != nil {
			continue
		}
		switch body := t.Body.(type) {
		case *tx.Approve:
			b.approve(body, x.Height, names)
		case *tx.Withdraw:
			id := hex.EncodeToString(body.Proposal)
			b.approvals[id] = slices.DeleteFunc(b.approvals[id], func(i uint32) bool { return i == body.Participant })
			b.last[id] = max(b.last[id], x.Height)
		}
	}
}

// approve counts an approval, and adds the Join that it carries.
func (b *ballot) approve(a *tx.Approve, height int64, names map[string]string) {
	id := hex.EncodeToString(a.Proposal)
	if join, err := tx.Decode(a.Join); err == nil && b.titles[id] == "" {
		b.add(join, height, nil, names)
	}
	b.approvals[id] = append(b.approvals[id], a.Participant)
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

// Decided is a proposal that no longer waits, with its outcome.
type Decided struct {
	Proposal
	Approvals []uint32       `json:"approvals,omitempty"`
	Outcome   Outcome        `json:"outcome"`
	Time      *time.Time     `json:"time,omitempty"` // of the block at Outcome.At; nil if it is unknown
	For       []query.Member `json:"-"`              // that approved it
}

// Open is a proposal that waits, with its effect on the running parameters and its approvals. Those of participants
// that have left do not count.
type Open struct {
	query.Proposal
	Effect
	Unknown string         `json:"effect_unknown,omitempty"` // why the effect is unknown
	Time    *time.Time     `json:"time,omitempty"`           // of the block at Height; null if the node does not have it
	Title   string         `json:"-"`
	For     []query.Member `json:"-"` // active participants that approved it
	Silent  []query.Member `json:"-"` // active participants that have not approved it
	Missing int            `json:"-"` // the number of approvals that are missing
}

// OpenProposals returns the proposals that wait, with the titles that are known.
func OpenProposals(m query.Membership, running params.Params, titles map[string]string) []Open {
	out := []Open{}
	for _, p := range m.Proposals {
		x := Open{Proposal: p, Title: cmp.Or(titles[p.ID], p.About)}
		var err error
		if x.Effect, err = EffectOf(m, p, running); err != nil {
			x.Unknown = err.Error()
		}
		for _, q := range m.Members {
			if q.Active && slices.Contains(p.Approvals, q.Index) {
				x.For = append(x.For, q)
			} else if q.Active {
				x.Silent = append(x.Silent, q)
			}
		}
		x.Missing = max(0, m.Threshold-len(x.For))
		out = append(out, x)
	}
	return out
}

// Next says what happens next to the proposal.
func (p Open) Next() string {
	at := "takes effect at the next round boundary"
	switch {
	case p.Kind == tx.KindStartEpoch.String() && p.Unknown != "":
		at = "opens its epoch at a round boundary"
	case p.Kind == tx.KindStartEpoch.String() && p.Now:
		at = "ends the running epoch, and opens its own, at the next round boundary"
	case p.Kind == tx.KindStartEpoch.String():
		at = "opens its epoch when the running epoch's training is finished"
	case p.Kind == tx.KindUpgrade.String():
		at = "is agreed at the next round boundary, for the height of the upgrade"
	}
	switch {
	case p.Accepted:
		return "It is accepted, and " + at + "."
	case p.Kind == tx.KindJoin.String():
		return "With enough approvals the newcomer joins at the next round boundary."
	}
	return "With enough approvals it " + at + ". It is dropped if its proposer leaves before, and withdrawn if its " +
		"approvals are."
}

// Governance is what the members of a chain decide, and what they have decided.
type Governance struct {
	query.Membership
	Open     []Open
	Past     []Decided // newest first
	Complete bool      // Past has all proposals since the node's first block that no longer wait
}

// Governance reads the proposals from the node's index of transactions.
func (r *Reader) Governance() Governance {
	m, running := Ask[query.Membership](r, "/membership"), Ask[params.Params](r, "/params")
	cast := r.ballot(m)
	past := r.decided(cast, m)
	if r.err != nil {
		return Governance{}
	}
	open := OpenProposals(m, running, cast.titles)
	for i := range open {
		open[i].Time = r.blockTime(int64(open[i].Height))
	}
	return Governance{m, open, past, cast.complete}
}

// blockTime returns the time of the block at a height, nil if it is unknown.
func (r *Reader) blockTime(height int64) *time.Time {
	if at := r.TimeAt(uint64(height)); height > 0 && !at.IsZero() {
		at = at.UTC()
		return &at
	}
	return nil
}

// decided returns the past proposals of a ballot with their outcomes.
func (r *Reader) decided(b *ballot, m query.Membership) []Decided {
	all := []Decided{}
	for _, p := range b.past {
		d := Decided{Proposal: p, Approvals: b.approvals[p.ID], Outcome: r.outcome(p.ID, max(p.Height, b.last[p.ID]))}
		if d.Time = r.blockTime(d.Outcome.At); d.Outcome.State == Dropped {
			d.Outcome.Why = p.whyDropped(m, r.Epochs())
		}
		if d.Outcome == (Outcome{State: Dropped}) && len(d.Approvals) >= m.Threshold {
			d.Outcome.State = Unknown // enacted, it may be, in a block that the index lacks
		}
		d.For = slices.DeleteFunc(slices.Clone(m.Members),
			func(q query.Member) bool { return !slices.Contains(d.Approvals, q.Index) })
		all = append(all, d)
	}
	return all
}

// whyDropped returns why a boundary dropped a proposal: another opened its epoch, or its proposer has left; else "".
func (p Proposal) whyDropped(m query.Membership, epochs []query.EpochState) string {
	if slices.ContainsFunc(epochs, func(e query.EpochState) bool { return strconv.FormatUint(e.Epoch, 10) == p.epoch }) {
		return "another proposal opened epoch " + p.epoch
	}
	left := func(q query.Member) bool { return q.Index == *p.proposer && !q.Active }
	if p.proposer != nil && slices.ContainsFunc(m.Members, left) {
		return "its proposer has left"
	}
	return ""
}

// outcome returns the outcome of a proposal that no longer waits. An end stays cached. That there is none is looked for
// again with the next look: the proposal may have come since. A Join may have waited several times: the height of its
// last approval or withdrawal is part of the key.
func (r *Reader) outcome(id string, from int64) Outcome {
	key, last := fmt.Sprint("outcome ", id, from), int64(Ask[query.Status](r, "/status").Height)
	if out, ok := r.outcomes.Cached(key); ok {
		return out
	}
	found, err := r.answers.Get(r.Ctx, r.Looks(), key, func() (any, error) {
		return r.seek(id, from, last), cmp.Or(r.err, r.Ctx.Err())
	})
	out, _ := found.(Outcome)
	if err != nil {
		return Outcome{State: Unknown}
	}
	if out.At > 0 {
		r.outcomes.Put(key, out)
	}
	return out
}

// seek looks for the end of a proposal in the events of the first blocks from a height on, and of the last two, which
// the node's index may lack, and then in that index, which answers with whole blocks.
func (r *Reader) seek(id string, from, last int64) Outcome {
	heights := []int64{last - 1, last}
	for i := range int64(nearBlocks) {
		heights = append(heights, from+i)
	}
	var end *client.Enactment
	for _, height := range heights {
		if end != nil || height < from || height > last {
			continue
		}
		if results, err := r.rpc.BlockResults(r.Ctx, &height); err == nil {
			end = client.EnactmentIn(results.FinalizeBlockEvents, height, id)
		}
	}
	if end == nil {
		var err error
		if end, err = EnactmentOf(r.Ctx, r.rpc, id); err != nil {
			return Outcome{State: Unknown}
		}
	}
	if end == nil || end.Height < from { // of an earlier time that a Join waited
		return Outcome{State: Dropped}
	}
	out := Outcome{State: cmp.Or(end.Discarded, Enacted), At: end.Height, Who: end.Participant, Why: end.Refused}
	if rule, rest := app.SplitRule(out.Why); rule != "" {
		out.Why = rest + " (" + rule + ")"
	}
	if out.Why != "" {
		out.State = Rejected
	}
	return out
}
