// Package query has the commands that ask a node, and the text form of its answers.
package query

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// question is a command that asks a node and shows the answer.
type question struct {
	use, short string
	example    string // a command line
	args       cobra.PositionalArgs
	ask        asking
	path       Path      // nil if the application hash does not cover the answer
	watch      *watching // nil but for the status
}

// asking asks a node for a value, and returns it with the function that prints it as text.
type asking func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error)

// told asks by a method of the client.
func told[T any](get func(*client.Client, context.Context) (T, error), text func(io.Writer, T)) asking {
	return func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
		x, err := get(c, ctx)
		return x, func(w io.Writer) { text(w, x) }, err
	}
}

// table asks for a list, whose values are lines of a table.
func table[T any](get func(*client.Client, context.Context) ([]T, error), heading string, line func(T) string) asking {
	return told(get, func(w io.Writer, all []T) { command.Table(w, heading, all, line) })
}

// recorded asks about the record of the round in the arguments.
func recorded(ask func(context.Context, *client.Client, app.Record) (any, func(io.Writer), error)) asking {
	return func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
		epoch, t, err := RoundArgument(ctx, c, args)
		if err != nil {
			return nil, nil, err
		}
		r, err := c.RoundOf(ctx, epoch, t)
		if err != nil {
			return nil, nil, err
		}
		return ask(ctx, c, r)
	}
}

// command returns the command. It has --prove if the answer can be proven.
func (q question) command() *cobra.Command {
	var node string
	var prove bool
	declared := &cobra.Command{Use: q.use, Short: q.short, Example: "  " + q.example, Args: q.args}
	cmd := command.New(declared, func(r *command.Run, args []string) error {
		if q.watch != nil && (q.watch.again || q.watch.participants) {
			return q.watch.run(r, node)
		}
		return q.answer(r, node, args, prove)
	})
	command.NodeFlag(cmd, &node)
	if q.path != nil {
		command.Flag(cmd, &prove, "prove", false, "print the value in the state, as protobuf, with its Merkle proof, which "+
			"spdl verify checks")
	}
	if q.watch != nil {
		q.watch.flags(cmd)
		cmd.MarkFlagsMutuallyExclusive("prove", "participants")
		cmd.MarkFlagsMutuallyExclusive("prove", "watch")
	}
	return cmd
}

// answer shows the value or, with prove, the value in the state and its proof.
func (q question) answer(r *command.Run, node string, args []string, prove bool) error {
	c, err := r.Client(node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	ask := q.ask
	if prove {
		ask = q.prove
	}
	value, text, err := ask(ctx, c, args)
	if err != nil {
		return err
	}
	return r.Show(value, text)
}

// Commands returns the group of commands.
func Commands() *cobra.Command {
	group := command.Group("query", "Ask a node about the training and the consortium", queryStatus(), queryRound(),
		queryNeighbours(), queryModel(), queryParticipants(), queryParams(), queryPrivacy(),
		queryLeader(), queryElection(), queryReputation(), queryMembership(), queryProposals(), queryEvidence(),
		queryEpochs(), queryUpgrade(), queryRefusals())
	group.Aliases = []string{"q"}
	return group
}

func queryRound() *cobra.Command {
	return question{use: "round [[EPOCH] ROUND]", example: "spdl query round 11\n  spdl query round 0 10  # of epoch 0",
		short: "A closed round: leader, view, epsilon, every gradient's score " +
			"and fate (default: the last)", args: RoundArgs, path: ofRound("round"),
		ask: recorded(func(ctx context.Context, c *client.Client, r app.Record) (any, func(io.Writer), error) {
			people, err := c.Participants(ctx)
			if err != nil {
				return nil, nil, err
			}
			p, err := priced(ctx, c, r)
			return p, func(w io.Writer) { RoundText(w, r, people, p.cost()) }, err
		})}.command()
}

// queryNeighbours shows the neighbours of gradients. Records leave them out, so the command computes them.
func queryNeighbours() *cobra.Command {
	return question{use: "neighbours [[EPOCH] ROUND]", example: "spdl query neighbours 41",
		short: "With whose gradients the rule compared each gradient of a closed round (default: the last)", args: RoundArgs,
		ask: recorded(func(ctx context.Context, c *client.Client, r app.Record) (any, func(io.Writer), error) {
			list, err := c.Neighbours(ctx, r)
			return list, func(w io.Writer) {
				if !slices.ContainsFunc(list, func(n app.Neighbours) bool { return len(n.Of) > 0 }) {
					fmt.Fprintf(w, "none: the rule %s compared no gradient with another\n", r.Rule)
					return
				}
				command.Table(w, "participant\tneighbours by "+r.Rule, list, func(n app.Neighbours) string {
					return fmt.Sprintf("%d\t%s", n.Participant, strings.Trim(fmt.Sprint(n.Of), "[]"))
				})
			}, err
		})}.command()
}

// RoundNumbers reads the arguments [[EPOCH] ROUND].
func RoundNumbers(args []string) (numbers []uint64, err error) {
	for _, arg := range args {
		x, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			name := map[bool]string{true: "epoch", false: "round"}[len(args) == 2 && len(numbers) == 0]
			return nil, command.Usage(fmt.Errorf("%s %q is no number", name, arg))
		}
		numbers = append(numbers, x)
	}
	return numbers, nil
}

// RoundArgs accepts [[EPOCH] ROUND].
func RoundArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(2)(cmd, args); err != nil {
		return err
	}
	_, err := RoundNumbers(args)
	return err
}

// IndexArg accepts one participant's index.
func IndexArg(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	_, err := ParticipantIndex(args[0])
	return err
}

// ParticipantIndex reads a participant's index.
func ParticipantIndex(arg string) (uint32, error) {
	index, err := strconv.ParseUint(arg, 10, 32)
	if err != nil {
		return 0, command.Usage(fmt.Errorf("participant %q is no index", arg))
	}
	return uint32(index), nil
}

// RoundArgument returns the round in the arguments. Without an epoch it is in the running epoch,
// and without arguments it is the last closed round.
func RoundArgument(ctx context.Context, c *client.Client, args []string) (epoch, round uint64, err error) {
	numbers, err := RoundNumbers(args)
	if err != nil {
		return 0, 0, err
	}
	if len(numbers) == 2 {
		return numbers[0], numbers[1], nil
	}
	s, err := c.Status(ctx)
	switch {
	case err != nil:
		return 0, 0, err
	case len(numbers) == 1:
		return s.Epoch, numbers[0], nil
	case s.Round > 0:
		return s.Epoch, s.Round - 1, nil
	}
	epochs, err := c.Epochs(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := len(epochs) - 1; i >= 0; i-- {
		if e := epochs[i]; e.Rounds > 0 {
			return e.Epoch, e.Rounds - 1, nil
		}
	}
	return 0, 0, fmt.Errorf("no round is closed yet")
}

// RoundText prints the record of a closed round with the reasons of fates, and its cost unless cost is "". Participants
// that were not included are those of people.
func RoundText(w io.Writer, r app.Record, people []app.Participant, cost string) {
	rule := r.Rule
	if r.Margin >= 0 {
		rule += fmt.Sprintf(", margin %d", r.Margin)
	}
	fmt.Fprintf(w, "round    %d of epoch %d\nheight   %d, opened at %d\nleader   %d in view %d of ranking %v\nrule     "+
		"%s\nDelta    %s\nmodel    %s\n",
		r.Round, r.Epoch, r.Height, r.Opened, r.Leader, r.View, r.Ranking, rule,
		hex.EncodeToString(r.DeltaDigest), hex.EncodeToString(r.ModelHash))
	if cost != "" {
		fmt.Fprintf(w, "epsilon  %s\n", cost)
	}
	fmt.Fprintln(w)
	if len(r.Withheld) > 0 {
		fmt.Fprintf(w, "committed and not included: %v\n\n", r.Withheld)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "participant\tfate\tweight\tscore\topposed\treputation\t  why")
	for _, v := range chainview.Verdicts(&r, people, nil, nil) {
		score, opposed, reputation := "-", map[bool]string{false: "no", true: "yes"}[v.Opposed], "-"
		if v.Reputation != nil {
			score, reputation = fmt.Sprint(v.Score), fmt.Sprintf("%.6f", float64(*v.Reputation)/params.One)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t  %s\n", v.Participant, v.Fate, chainview.WeightText(v.Weight), score,
			opposed, reputation, v.Why)
	}
	_ = t.Flush()
}

func queryModel() *cobra.Command {
	return question{use: "model [[EPOCH] ROUND]", example: "spdl query model 41 -o json",
		short: "The model's parameters, now or after a closed round: base64 " +
			"of little-endian float64", args: RoundArgs, path: ofModel,
		ask: func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
			m, err := modelArgument(ctx, c, args)
			return m, func(w io.Writer) {
				fmt.Fprintf(w, "epoch       %d\nrounds      %d applied\nhash        %s\nparameters  %d\n%s\n",
					m.Epoch, m.Round, m.Hash, len(m.Parameters)/8, base64.StdEncoding.EncodeToString(m.Parameters))
			}, err
		}}.command()
}

// modelArgument returns the model after the round in the arguments, or without arguments the current model.
func modelArgument(ctx context.Context, c *client.Client, args []string) (query.ModelState, error) {
	if len(args) == 0 {
		return c.Model(ctx)
	}
	epoch, t, err := RoundArgument(ctx, c, args)
	if err != nil {
		return query.ModelState{}, err
	}
	return c.ModelOf(ctx, epoch, t)
}

func queryParticipants() *cobra.Command {
	return question{use: "participants", example: "spdl query participants",
		short: "All participants: reputation and participations",
		path:  fixed("participants"),
		ask: table((*client.Client).Participants, "index\tmoniker\treputation\tparticipations\tactive\tpublic key",
			func(p app.Participant) string {
				return fmt.Sprintf("%d\t%q\t%.6f\t%d\t%t\t%s", p.Index, p.Moniker, float64(p.Reputation)/params.One,
					p.Participations, p.Active, base64.StdEncoding.EncodeToString(p.PubKey))
			})}.command()
}

func queryParams() *cobra.Command {
	return question{use: "params", example: "spdl query params > params.json",
		short: "The epoch's parameters", path: fixed("params"),
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			p, err := c.Params(ctx)
			return p, nil, err
		}}.command()
}
