package watch

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// proposals are the open proposals and the decided ones.
type proposals struct{ chainview.Governance }

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

func (p proposals) text(w io.Writer) {
	fmt.Fprintf(w, "threshold  %d approvals of the %d active participants\n\n", p.Threshold, p.Participants)
	if len(p.Open) == 0 {
		fmt.Fprintln(w, "no proposal is open")
	}
	for _, x := range p.Open {
		fmt.Fprintf(w, "proposal   %s\nabout      %s, proposed at %s%s\ndetails    %s\napproved   %s\n",
			command.Plain(x.ID), command.Plain(x.Title), when(int64(x.Height), x.Time),
			age(x.Time, time.Now()), command.Plain(chainview.AboutByName(p.Membership, x.Proposal)),
			approvals(x, p.Threshold))
		changes := x.Lines()
		if x.Unknown != "" {
			changes = append(changes, "unknown: "+x.Unknown)
		}
		for i, line := range changes {
			fmt.Fprintf(w, "%-11s%s\n", []string{"changes", ""}[min(i, 1)], command.Plain(line))
		}
		next := x.Next()
		if !x.Accepted {
			if len(x.Silent) > 0 {
				fmt.Fprintf(w, "missing    %s\n", named(x.Silent))
			}
			fmt.Fprintf(w, "expires    at height %d\n", x.Expires)
			next = fmt.Sprintf("each member that agrees: spdl tx approve %.8s", command.Plain(x.ID))
		}
		fmt.Fprintf(w, "next       %s\n\n", next)
	}
	if len(p.Past) == 0 {
		return
	}
	fmt.Fprintln(w, "\ndecided, newest first (spdl audit log has all, with proofs):")
	command.Table(w, "proposal\twhat\tproposed at\tapproved by\toutcome", p.Past, func(d chainview.Decided) string {
		approved := cmp.Or(named(d.For), "none needed")
		if len(d.Approvals) == 0 && d.Outcome.State == chainview.Withdrawn {
			approved = "nobody any more"
		}
		return fmt.Sprintf("%.8s\t%s\t%d\t%s\t%s", d.ID, command.Plain(d.Title), d.Height, approved, outcomeText(d))
	})
}

// named returns the names of members.
func named(members []query.Member) string {
	var names []string
	for _, q := range members {
		names = append(names, chainview.MonikerText(q.Moniker))
	}
	return strings.Join(names, ", ")
}

// approvals counts and names those who approved an open proposal.
func approvals(p chainview.Open, threshold int) string {
	switch {
	case p.Accepted && len(p.Approvals) == 0:
		return "none needed"
	case len(p.For) == 0:
		return fmt.Sprintf("0 of %d", threshold)
	}
	return fmt.Sprintf("%d of %d: %s", len(p.For), threshold, named(p.For))
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
