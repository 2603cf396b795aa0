package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	cmtversion "github.com/cometbft/cometbft/version"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
	"github.com/spdl/spdl/privacy/accountant"
)

// NodeStatus returns the command that asks CometBFT for the status of a node.
func NodeStatus() *cobra.Command {
	cmd := question{use: "status", example: "spdl status --node tcp://127.0.0.1:26657",
		short: "CometBFT's status of a node: identity, sync, validator",
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			s, err := c.RPC().Status(ctx)
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
			}
			view, _ := c.Connections(ctx) // an empty view if the node does not answer
			answer := nodeStatus{ResultStatus: s, Hint: view.Hint(string(s.NodeInfo.ID()))}
			if info, err := c.RPC().ABCIInfo(ctx); err == nil {
				answer.Program = fmt.Sprintf("spdl %s, state machine %d", info.Response.Version, info.Response.AppVersion)
				if info.Response.Version == version.Version {
					answer.Program += ", CometBFT " + version.CometBFT()
				}
			}
			return answer, nil, nil
		}}.command()
	cmd.Long = cmd.Short + ".\n" +
		"program is the release of spdl that the node runs, with its CometBFT if it is that of this program.\n" +
		"node_info.version is a constant of CometBFT's source, here " + cmtversion.TMCoreSemVer + ", and no release."
	return cmd
}

// nodeStatus is CometBFT's status of a node, the program that the node runs, and what to do if peers close its
// connections or have dropped the block that it needs.
type nodeStatus struct {
	*coretypes.ResultStatus
	Program string `json:"program,omitempty"` // spdl and its state machine, as the node declares them; "" if it does not
	Hint    string `json:"hint,omitempty"`
}

// chainStatus is the application's status with what CometBFT says about the node, which is left out if the node does
// not answer that.
type chainStatus struct {
	query.Status
	LastBlock  *time.Time    `json:"last_block_time,omitempty"` // nil before the first block
	CatchingUp bool          `json:"catching_up,omitempty"`
	Peers      *int          `json:"peers,omitempty"`
	Gap        string        `json:"gap,omitempty"`   // query.Connections.Gap, with its remedy
	Votes      *client.Votes `json:"votes,omitempty"` // while the chain waits for a block
	hint       string        // query.Connections.Hint, before the first block
}

func queryStatus() *cobra.Command {
	return question{use: "status", watch: &watching{},
		example: "spdl query status --node tcp://127.0.0.1:26657\n  spdl query status --watch --home ./net/node0",
		short:   "Height, age of the last block, round, leader ranking, peers, application hash",
		path:    fixed("progress"),
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			app, err := c.Status(ctx)
			if err != nil {
				return nil, nil, err
			}
			view, _ := c.Connections(ctx) // an empty view if the node does not answer
			s := chainStatus{Status: app}
			if gap, remedy := view.Gap(); gap != "" {
				s.Gap = gap + ": " + remedy
			}
			if node, err := c.RPC().Status(ctx); err == nil {
				s.CatchingUp = node.SyncInfo.CatchingUp
				s.hint = view.Hint(string(node.NodeInfo.ID()))
				if node.SyncInfo.LatestBlockHeight > 0 {
					s.LastBlock, s.hint = &node.SyncInfo.LatestBlockTime, ""
				}
				s.Votes = votes(ctx, c, s.LastBlock, s.CatchingUp || steps(s.Status))
			}
			if net, err := c.RPC().NetInfo(ctx); err == nil {
				s.Peers = &net.NPeers
			}
			return s, func(w io.Writer) { s.text(w, time.Now()) }, nil
		}}.command()
}

// text prints the status at a time.
func (s chainStatus) text(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "chain         %s\nheight        %d\n%sapp hash      %s\nepoch         %d\nround         "+
		"%d of %d, %s\nranking       %v\nparticipants  %d, %d gradients pending\n%smodel         %d parameters\nrule     "+
		"     %s\nepsilon       %s\nseed          %s\n",
		s.ChainID, s.Height, s.blockText(now), s.AppHash, s.Epoch, s.Round, s.Rounds, phase(s.Status, caveat.EndedEarly),
		s.Ranking, s.Participants, s.Pending, s.peersText(), s.Dim, s.Rule,
		accountant.TextOr(s.Epsilon, "NO DP GUARANTEE"), s.Seed)
	if s.TestChain {
		fmt.Fprintln(w, caveat.TestChain)
	}
	if s.Home != nil {
		for _, l := range doctor.HomeLines(s.Home) {
			fmt.Fprintf(w, "%-14s%s\n", l.Name, command.Plain(l.Text))
		}
	}
}

// phase returns the phase of the training in a few words; early is what is said of an epoch that ended early.
func phase(s query.Status, early string) string {
	switch {
	case s.Done && s.Round < s.Rounds:
		return early
	case s.Done:
		return "finished"
	case s.Phase != "":
		return fmt.Sprintf("%s, %d committed", s.Phase, s.Committed)
	}
	return "training"
}

// steps reports whether the node's worker is at a step, for which the block that is missing may wait.
func steps(s query.Status) bool {
	return s.Home != nil && s.Home.Step != "" && s.Home.Worker != query.WorkerFails
}

// votes returns who votes for the block that a node waits for, by the time of the last block, nil before the first. It
// returns nil if blocks come, if the node needs none or has just begun, or if its RPC does not say.
func votes(ctx context.Context, c *client.Client, last *time.Time, idle bool) *client.Votes {
	if last != nil && time.Since(*last) <= client.Overdue || idle {
		return nil
	}
	participants, _ := c.Participants(ctx) // without them validators have no names
	v, err := client.ReadVotes(ctx, c.RPC(), participants)
	if err != nil || last == nil && time.Since(v.Since) <= client.Overdue {
		return nil
	}
	return &v
}

// blockText returns the line about the age of the last block at a time, "" if it is not known.
func (s chainStatus) blockText(now time.Time) string {
	if s.LastBlock == nil && s.Votes != nil {
		return "last block    none: " + command.Plain(s.Votes.Standstill()) + "\n"
	} else if s.LastBlock == nil { // before the first block peersText has the gap
		return ""
	}
	age := now.Sub(*s.LastBlock).Round(time.Second)
	text := fmt.Sprintf("last block    %v ago", age)
	switch {
	case s.Gap != "":
		text += ": " + command.Plain(s.Gap)
	case s.CatchingUp:
		text += ": the node fetches the blocks that it lacks"
	case s.Votes != nil:
		text += ": " + command.Plain(s.Votes.Standstill())
	case age > client.Overdue && steps(s.Status):
		text += ": the round waits for gradients"
	case age > client.Overdue:
		text += `: the chain stands, or this node alone (spdl doctor, check "last block")`
	}
	return text + "\n"
}

// peersText returns the line about the peers, "" if they are not known.
func (s chainStatus) peersText() string {
	if s.Peers == nil {
		return ""
	}
	text := fmt.Sprintf("peers         %d connected", *s.Peers)
	if s.hint != "" {
		text += ": " + command.Plain(s.hint)
	}
	return text + "\n"
}
