package query

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// proposals are the open proposals and the decided ones, newest first.
type proposals struct {
	query.Membership
	Open    []chainview.Open
	Decided []chainview.Decided
	Titles  map[string]string // of proposals, by id
}

func queryProposals() *cobra.Command {
	return question{use: "proposals", example: "spdl query proposals --node tcp://127.0.0.1:26657",
		short: "Open proposals with their votes, and what became of earlier ones",
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			m, past, votes, err := history(ctx, c)
			if err != nil {
				return nil, nil, err
			}
			running, err := c.Params(ctx)
			if err != nil {
				return nil, nil, err
			}
			p := proposals{m, chainview.OpenProposals(m, running), past, votes.Titles}
			for i := range p.Open {
				p.Open[i].Time = timeAt(ctx, c, int64(p.Open[i].Height))
			}
			return struct {
				Threshold int                 `json:"threshold"`
				Open      []chainview.Open    `json:"open"`
				Decided   []chainview.Decided `json:"decided"`
			}{m.Threshold, p.Open, past}, p.text, nil
		}}.command()
}

// history returns the membership, and the proposals that no longer wait, from the node's index of
// transactions, with their outcomes and times. The ballot is complete if these are all since the
// genesis.
func history(ctx context.Context, c *client.Client) (m query.Membership, all []chainview.Decided, votes *chainview.Ballot,
	err error) {
	if m, err = c.Membership(ctx); err != nil {
		return m, nil, nil, err
	}
	if votes, err = chainview.ReadBallot(ctx, c.RPC(), m); err != nil {
		return m, nil, nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	status, err := c.RPC().Status(ctx)
	if err != nil {
		return m, nil, nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	epochs, err := c.Epochs(ctx)
	if err != nil {
		return m, nil, nil, err
	}
	all = votes.Decide(m, epochs, status.SyncInfo.LatestBlockHeight, nil,
		func(id string, heights []int64) chainview.Outcome {
			return chainview.OutcomeOf(ctx, c.RPC(), id, heights)
		},
		func(height int64) *time.Time { return timeAt(ctx, c, height) })
	votes.Complete = votes.Complete && status.SyncInfo.EarliestBlockHeight == 1
	return m, all, votes, nil
}

// timeAt returns the time of the block at a height, nil if the node does not have it.
func timeAt(ctx context.Context, c *client.Client, height int64) *time.Time {
	h, err := c.RPC().Header(ctx, &height)
	if err != nil || h.Header == nil {
		return nil
	}
	at := h.Header.Time.UTC()
	return &at
}

// age describes the time since a proposal was made, "" if the time is unknown.
func age(at *time.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	since := max(0, now.Sub(*at))
	if days := int(since.Hours()) / 24; days > 1 {
		return fmt.Sprintf(", %d days ago", days)
	}
	return fmt.Sprintf(", %v ago", since.Round(time.Second))
}

func (p proposals) text(w io.Writer) error {
	fmt.Fprintf(w, "threshold  %d approvals of the %d active participants\n\n", p.Threshold, p.Participants)
	if len(p.Open) == 0 {
		fmt.Fprintln(w, "no proposal is open")
	}
	for _, x := range p.Open {
		fmt.Fprintf(w, "proposal   %s\nabout      %s, proposed at %s%s\ndetails    %s\napproved   %s\n",
			command.Plain(x.ID), command.Plain(cmp.Or(p.Titles[x.ID], x.Kind)), when(int64(x.Height), x.Time),
			age(x.Time, time.Now()), command.Plain(p.AboutByName(x.Proposal)),
			approvals(p.Membership, x.Proposal))
		changes := x.Lines()
		if x.Unknown != "" {
			changes = append(changes, "unknown: "+x.Unknown)
		}
		for i, line := range changes {
			fmt.Fprintf(w, "%-11s%s\n", []string{"changes", ""}[min(i, 1)], command.Plain(line))
		}
		if missing := p.missing(x.Proposal); missing != "" && !x.Accepted {
			fmt.Fprintf(w, "missing    %s\n", missing)
		}
		if !x.Accepted {
			fmt.Fprintf(w, "expires    at height %d\n", x.Expires)
		}
		fmt.Fprintf(w, "next       %s\n\n", nextOf(x))
	}
	if len(p.Decided) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\ndecided, newest first (spdl audit log has all, with proofs):")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "proposal\twhat\tproposed at\tapproved by\toutcome")
	for _, d := range p.Decided {
		approved := p.names(d.Approvals)
		if len(d.Approvals) == 0 && d.Outcome.State == chainview.Withdrawn {
			approved = "nobody any more"
		}
		fmt.Fprintf(t, "%.8s\t%s\t%d\t%s\t%s\n", d.ID, command.Plain(d.Title), d.Height, approved, outcomeText(d))
	}
	return t.Flush()
}

// named returns the names of some members.
func named(members []query.Member, is func(query.Member) bool) (names []string) {
	for _, q := range members {
		if is(q) {
			names = append(names, query.MonikerText(q.Moniker))
		}
	}
	return names
}

// missing names the active participants that have not approved a proposal.
func (p proposals) missing(x query.Proposal) string {
	return strings.Join(named(p.Members, func(q query.Member) bool {
		return q.Active && !slices.Contains(x.Approvals, q.Index)
	}), ", ")
}

func (p proposals) names(indices []uint32) string {
	names := named(p.Members, func(q query.Member) bool { return slices.Contains(indices, q.Index) })
	return cmp.Or(strings.Join(names, ", "), "none needed")
}

// nextOf describes the next step of an open proposal.
func nextOf(p chainview.Open) string {
	switch {
	case p.Accepted && p.Kind == tx.KindStartEpoch.String() && !p.Now:
		return "accepted: opens when the training is finished"
	case p.Accepted:
		return "accepted: takes effect at the next round boundary"
	}
	return fmt.Sprintf("each member that agrees: spdl tx approve %.8s", command.Plain(p.ID))
}

func outcomeText(d chainview.Decided) string {
	at := when(d.Outcome.At, d.Time)
	switch d.Outcome.State {
	case chainview.Enacted:
		return "in force since " + at
	case chainview.Rejected:
		return "not possible at " + at + ": " + command.Plain(d.Outcome.Why)
	case chainview.Withdrawn, chainview.Expired:
		return d.Outcome.State + " at " + at
	case chainview.Dropped:
		return "dropped: " + cmp.Or(command.Plain(d.Outcome.Why), "too few approvals")
	}
	return "unknown to this node's index: spdl audit log"
}

// when formats a height and its block's time.
func when(height int64, at *time.Time) string {
	if at == nil {
		return fmt.Sprintf("height %d", height)
	}
	return fmt.Sprintf("height %d, %s UTC", height, at.Format(time.DateTime))
}

// changed returns the height and time at which a participant joined or left, "" if no decided
// proposal of the kind tells.
func changed(past []chainview.Decided, kind tx.Kind, index uint32) string {
	for _, d := range past {
		if d.Kind == kind.String() && d.Outcome.State == chainview.Enacted &&
			d.Outcome.Who == strconv.FormatUint(uint64(index), 10) {
			return when(d.Outcome.At, d.Time)
		}
	}
	return ""
}
