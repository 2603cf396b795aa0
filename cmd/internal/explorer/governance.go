package explorer

import (
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
)

// openProposal is a proposal that waits, as votes.
type openProposal struct {
	query.Proposal
	Title   string
	For     []person // active participants that approved it
	Needed  int      // approvals
	Missing int      // approvals that it still needs
}

// governancePage has the proposals that wait, what became of earlier ones, and the upgrades.
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
	ballot, err := s.ballot(r.Context(), members)
	if err != nil {
		return content{}, err
	}
	b := governancePage{Membership: members, Upgrade: upgrade}
	for _, p := range members.Proposals {
		b.Open = append(b.Open, openOf(p, members, ballot.titles[p.ID]))
	}
	if b.Past, err = s.past(r.Context(), ballot, members); err != nil {
		return content{}, err
	}
	return content{"governance", "Governance", b}, nil
}

// openOf returns a proposal as votes. Approvals of participants that have left do not count.
func openOf(p query.Proposal, m query.Membership, title string) openProposal {
	out := openProposal{Proposal: p, Title: title, Needed: m.Threshold}
	if title == "" {
		out.Title = p.About
	}
	for _, q := range m.Members {
		if q.Active && slices.Contains(p.Approvals, q.Index) {
			out.For = append(out.For, person{q.Index, q.Moniker})
		}
	}
	out.Missing = max(0, m.Threshold-len(out.For))
	return out
}

// Next says what happens next to the proposal.
func (p openProposal) Next() string {
	switch {
	case p.Accepted && p.Kind == tx.KindStartEpoch.String():
		return "It is accepted, and the epoch begins at the next round boundary if it was proposed with --now, else when " +
			"the training is finished."
	case p.Accepted:
		return "It is accepted, and takes effect at the next round boundary."
	case p.Kind == tx.KindJoin.String():
		return "With enough approvals the newcomer joins at the next round boundary."
	}
	return "With enough approvals it takes effect at the next round boundary. It is dropped if its proposer leaves before."
}
