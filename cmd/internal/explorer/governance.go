package explorer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// openProposal is a proposal that waits for votes.
type openProposal struct {
	chainview.Open
	Title   string
	For     []person // active participants that approved it
	Silent  []person // active participants that have not approved it, up to a max number
	Needed  int      // the number of approvals that it needs
	Missing int      // the number of approvals that are missing
}

// pastProposal is a proposal that no longer waits.
type pastProposal struct {
	chainview.Decided
	For []person
}

// governancePage holds the proposals that wait, the outcomes of earlier ones, and the upgrades.
type governancePage struct {
	query.Membership
	Open    []openProposal
	Past    []pastProposal
	Upgrade query.UpgradeState
}

// governance shows the proposals, and the planned and past upgrades.
func (s *Server) governance(r *http.Request) (content, error) {
	members, err := known[query.Membership](r.Context(), s.source, "/membership")
	if err != nil {
		return content{}, err
	}
	upgrade, err := known[query.UpgradeState](r.Context(), s.source, "/upgrade")
	if err != nil && !absent(err) {
		return content{}, err
	}
	votes, err := chainview.ReadBallot(r.Context(), s.source.blocks, members)
	if err != nil {
		return content{}, err
	}
	b := governancePage{Membership: members, Upgrade: upgrade}
	if b.Open, err = s.open(r.Context()); err != nil {
		return content{}, err
	}
	for i := range b.Open {
		b.Open[i].Title = cmp.Or(votes.Titles[b.Open[i].ID], b.Open[i].About)
	}
	if b.Past, err = s.past(r.Context(), votes, members); err != nil {
		return content{}, err
	}
	return content{"governance", "Governance", b}, nil
}

// open returns the waiting proposals with their votes and effects.
func (s *Server) open(ctx context.Context) (all []openProposal, err error) {
	members, err := known[query.Membership](ctx, s.source, "/membership")
	if err != nil {
		return nil, err
	}
	running, err := known[params.Params](ctx, s.source, "/params")
	if err != nil {
		return nil, err
	}
	for _, p := range chainview.OpenProposals(members, running) {
		p.Unknown = short(p.Unknown, 300)
		all = append(all, openOf(p, members))
	}
	return all, nil
}

// openOf returns a waiting proposal with its votes. Approvals of participants that have left do not
// count.
func openOf(p chainview.Open, m query.Membership) openProposal {
	out := openProposal{Open: p, Needed: m.Threshold}
	for _, q := range m.Members {
		if q.Active && slices.Contains(p.Approvals, q.Index) {
			out.For = append(out.For, person{q.Index, q.Moniker})
		} else if q.Active && len(out.Silent) < few {
			out.Silent = append(out.Silent, person{q.Index, q.Moniker})
		}
	}
	out.Missing = max(0, m.Threshold-len(out.For))
	return out
}

// Next says what happens next to the proposal.
func (p openProposal) Next() string {
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

// past returns the proposals that no longer wait, newest first, with their outcomes.
func (s *Server) past(ctx context.Context, b *chainview.Ballot, m query.Membership) ([]pastProposal, error) {
	epochs, err := known[[]query.EpochState](ctx, s.source, "/epochs")
	if err != nil {
		return nil, err
	}
	status, _, _, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	boundaries := []int64{} // heights at which rounds closed
	for height := range s.closedAt() {
		boundaries = append(boundaries, int64(height))
	}
	var all []pastProposal
	for _, d := range b.Decide(m, epochs, int64(status.Height), boundaries,
		func(id string, heights []int64) chainview.Outcome { return *s.source.outcomeOf(ctx, id, heights) },
		func(height int64) *time.Time { return s.source.timeAt(ctx, uint64(height)) }) {
		past := pastProposal{Decided: d}
		for _, q := range m.Members {
			if slices.Contains(d.Approvals, q.Index) {
				past.For = append(past.For, person{q.Index, q.Moniker})
			}
		}
		all = append(all, past)
	}
	return all, nil
}

// outcomeOf returns the outcome of a proposal that no longer waits, and caches it once it is known. A
// Join may have waited several times: the first of the heights is part of the key.
func (s *source) outcomeOf(ctx context.Context, id string, heights []int64) *chainview.Outcome {
	key := fmt.Sprint(id, heights[:min(1, len(heights))])
	if out, ok := s.outcomes.Cached(key); ok {
		return out
	}
	out := chainview.OutcomeOf(ctx, s.blocks, id, heights)
	if out.State != chainview.Unknown {
		s.outcomes.Put(key, &out)
	}
	return &out
}
