package watch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// consortiumQuestions are the questions about leaders, members and what they decide.
var consortiumQuestions = []question{
	{use: "leader", example: "spdl query leader",
		short: "Who may close the open round at the next height",
		ask: told("/leader", func(w io.Writer, l query.Leader) {
			everybody := ""
			switch {
			case l.Anybody:
				everybody = ", and every active participant"
			case l.Everybody:
				everybody = ", and everybody with a reputation"
			}
			fmt.Fprintf(w, "round    %d of epoch %d\nheight   %d is the next, opened at %d\nview     %d is the "+
				"highest open, one more every %d heights\nleaders  %v%s\nranking  %v\n",
				l.Round, l.Epoch, l.Height, l.Opened, l.View, l.ViewBlocks, l.Leaders, everybody, l.Ranking)
		})},
	{use: "election [[EPOCH] ROUND]", example: "spdl query election 41",
		short: "The VRF outputs that a closed round's gradients prove (default: the last)", args: RoundArgs,
		ask: func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
			epoch, t, err := RoundArgument(ctx, c, args)
			if err != nil {
				return nil, nil, err
			}
			e, err := client.Ask[query.Election](ctx, c, fmt.Sprintf("/election/%d/%d", epoch, t))
			return e, func(w io.Writer) {
				fmt.Fprintf(w, "round    %d of epoch %d\nseed     %s\nranking  %v\nleader   %d in view %d\n\n", e.Round, e.Epoch,
					command.Plain(e.Seed), e.Ranking, e.Leader, e.View)
				command.Table(w, "participant\treputation\tVRF output", e.Outputs, func(d query.Output) string {
					return fmt.Sprintf("%d\t%.6f\t%s", d.Participant, float64(d.Reputation)/params.One, command.Plain(d.Output))
				})
			}, err
		}},
	{use: "reputation", example: "spdl query reputation -o json",
		short: "Active participants: reputation, right to lead, offences",
		ask: table("/reputation",
			"participant\tmoniker\treputation\tmay lead\tparticipations\toffences", func(s query.Standing) string {
				return fmt.Sprintf("%d\t%q\t%.6f\t%t\t%d\t%d", s.Participant, s.Moniker, float64(s.Reputation)/params.One,
					s.MayLead, s.Participations, s.Offences)
			})},
	{use: "membership", example: "spdl query membership",
		short: "Who is registered, and the proposals that wait", path: fixed("proposals"),
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			r := chainview.New(c, c.RPC(), chainview.Options{}).Reader(ctx)
			m := r.Governance()
			comet, err := c.RPC().Status(ctx)
			if err != nil {
				r.Fail(fmt.Errorf("%w: %w", client.ErrUnreachable, err))
			}
			if r.Err() != nil {
				return nil, nil, r.Err()
			}
			return m.Membership, func(w io.Writer) {
				fmt.Fprintf(w, "participants  %d, %d of them with a validator\nbyzantine     %d at most\nthreshold     %d "+
					"approvals\n\n", m.Participants, m.Validators, m.Byzantine, m.Threshold)
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				printMembers(t, m.Members, m.Past, m.Complete && comet.SyncInfo.EarliestBlockHeight == 1)
				printProposals(t, m)
				_ = t.Flush()
			}, nil
		}},
	{use: "proposals", example: "spdl query proposals --node tcp://127.0.0.1:26657",
		short: "Open proposals with the participants that approved, and what became of earlier ones",
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			r := chainview.New(c, c.RPC(), chainview.Options{}).Reader(ctx)
			p := proposals{r.Governance()}
			return struct {
				Threshold int                 `json:"threshold"`
				Open      []chainview.Open    `json:"open"`
				Decided   []chainview.Decided `json:"decided"`
			}{p.Threshold, p.Open, p.Past}, p.text, r.Err()
		}},
	{use: "evidence", example: "spdl query evidence",
		short: "Proven offences: equivocations, and what CometBFT proved of validators",
		path:  fixed("offences"),
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			proven, err := c.Evidence(ctx)
			all := make([]offence, len(proven))
			for i, o := range proven {
				all[i] = offence{o, o.Cause()}
			}
			return all, func(w io.Writer) {
				command.Table(w, "participant\tof\tepoch\tround\tview\tproven at\tevidence", all, func(o offence) string {
					return fmt.Sprintf("%d\t%s\t%d\t%d\t%d\t%d\t%x", o.Participant, o.Of, o.Epoch, o.Round, o.View, o.Height,
						o.Evidence)
				})
			}, err
		}},
	{use: "epochs", example: "spdl query epochs",
		short: "The epochs that ended and the running one", path: fixed("epochs"),
		ask: table("/epochs", "epoch\trounds\tplanned\theights\tpreset\trule\tparameters\tmodel",
			func(e query.EpochState) string {
				heights := fmt.Sprintf("%d to %d", e.Opened, e.Closed)
				switch {
				case e.Running && e.Finished:
					heights = fmt.Sprintf("from %d, finished", e.Opened)
				case e.Running:
					heights = fmt.Sprintf("from %d, runs", e.Opened)
				}
				return fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s\t%d\t%s", e.Epoch, e.Rounds, e.Planned, heights,
					command.Plain(e.Preset), command.Plain(e.Rule), e.Dim, command.Plain(e.ModelHash))
			})},
	{use: "upgrade", example: "spdl query upgrade",
		short: "The version of the state machine, the upgrades that were made and the one " +
			"that is planned", path: fixed("progress"),
		ask: told("/upgrade", func(w io.Writer, u query.UpgradeState) {
			fmt.Fprintf(w, "version  %d executes the next height\nheight   %d is the last committed\n", u.Version, u.Height)
			for _, made := range u.Made {
				fmt.Fprintf(w, "made     %q to version %d at height %d\n", made.Name, made.Version, made.Height)
			}
			planned := "none"
			if p := u.Planned; p != nil {
				planned = fmt.Sprintf("%q to version %d at height %d: nodes stop after height %d, %d from now", p.Name, p.Version,
					p.Height, p.Height-1, p.Height-1-min(u.Height, p.Height-1))
			}
			fmt.Fprintln(w, "planned ", planned)
		})},
	{use: "refusals [[EPOCH] ROUND]", example: "spdl query refusals 41",
		short: "Gradients that this node rejected, with sender and reason (default: of the last 256 rounds)", args: RoundArgs,
		ask: func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
			path := "/refusals"
			if len(args) > 0 {
				epoch, t, err := RoundArgument(ctx, c, args)
				if err != nil {
					return nil, nil, err
				}
				path += fmt.Sprintf("/%d/%d", epoch, t)
			}
			all, err := client.Ask[[]query.Rejection](ctx, c, path)
			return all, func(w io.Writer) { refusalsText(w, all) }, err
		}},
}

// offence is an offence with the name of what it is of.
type offence struct {
	app.Offence
	Of string `json:"of"`
}

// printMembers writes a line for each participant that was ever registered. The heights of joining
// and leaving come from the node's index. If past is complete, a member without such a height was
// in the genesis. Without any address the column of addresses is left out.
func printMembers(t io.Writer, members []query.Member, past []chainview.Decided, complete bool) {
	first := map[bool]string{false: "-", true: "genesis"}[complete]
	addresses := slices.ContainsFunc(members, func(p query.Member) bool { return p.Address != "" })
	fmt.Fprintln(t, "index\tid\tmoniker\tvalidator\tjoined\tleft"+map[bool]string{true: "\taddress"}[addresses])
	for _, p := range members {
		joined, left := cmp.Or(changed(past, tx.KindJoin, p.Index), first), "-"
		if !p.Active {
			left = cmp.Or(changed(past, tx.KindRemove, p.Index), "yes")
		}
		fmt.Fprintf(t, "%d\t%.16s\t%s\t%t\t%s\t%s", p.Index, command.Plain(p.ID), chainview.MonikerText(p.Moniker),
			p.Validator, joined, left)
		if addresses {
			fmt.Fprintf(t, "\t%q", p.Address)
		}
		fmt.Fprintln(t)
	}
}

// printProposals writes a line for each proposal that waits, with the names of the participants that approved it.
func printProposals(t io.Writer, m chainview.Governance) {
	if len(m.Open) > 0 {
		fmt.Fprintln(t, "\nproposal\tkind\theight\tapprovals\tstate\tabout")
	}
	for _, p := range m.Open {
		state := map[bool]string{false: "open", true: "accepted"}[p.Accepted]
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", command.Plain(p.ID), command.Plain(p.Kind), p.Height,
			approvals(p, m.Threshold), state, command.Plain(chainview.AboutByName(m.Membership, p.Proposal)))
	}
}
