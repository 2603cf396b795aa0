// Package watch has the commands that ask a node: query and status with the text form of answers, explorer with web
// pages about any node, doctor, which examines a node with a fault, and debug, which collects what another person
// needs.
package watch

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
	"github.com/spdl/spdl/privacy/accountant"
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

// told asks for the answer to a path.
func told[T any](path string, text func(io.Writer, T)) asking {
	return func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
		x, err := client.Ask[T](ctx, c, path)
		return x, func(w io.Writer) { text(w, x) }, err
	}
}

// table asks for a list, whose values are lines of a table.
func table[T any](path, heading string, line func(T) string) asking {
	return told(path, func(w io.Writer, all []T) { command.Table(w, heading, all, line) })
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

// Query returns the group of commands.
func Query() *cobra.Command {
	group := command.Group("query", "Ask a node about the training and the consortium", queryStatus())
	for _, q := range slices.Concat(trainingQuestions, consortiumQuestions) {
		group.AddCommand(q.command())
	}
	group.Aliases = []string{"q"}
	return group
}

// trainingQuestions are the questions about rounds, models and what they have cost.
var trainingQuestions = []question{
	{use: "round [[EPOCH] ROUND]", example: "spdl query round 11\n  spdl query round 0 10  # of epoch 0",
		short: "A closed round: leader, view, epsilon, every gradient's score " +
			"and fate (default: the last)", args: RoundArgs, path: OfRound("round"),
		ask: recorded(func(ctx context.Context, c *client.Client, r app.Record) (any, func(io.Writer), error) {
			people, err := c.Participants(ctx)
			if err != nil {
				return nil, nil, err
			}
			place := params.RoundID{Epoch: r.Epoch, Round: r.Round}.String()
			rejected, _ := client.Ask[[]query.Rejection](ctx, c, "/refusals/"+place) // none of a node that was started later
			p, err := priced(ctx, c, r)
			return p, func(w io.Writer) { RoundText(w, r, people, p.cost(), rejected...) }, err
		})},
	// A record leaves the neighbours out: the node computes them.
	{use: "neighbours [[EPOCH] ROUND]", example: "spdl query neighbours 41",
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
		})},
	{use: "model [[EPOCH] ROUND]", example: "spdl query model 41 -o json",
		short: "The model's parameters, now or after a closed round: base64 of little-endian float64", args: RoundArgs,
		path: func(ctx context.Context, c *client.Client, args []string) (string, error) {
			if len(args) == 0 {
				return "model", nil
			}
			return OfRound("model")(ctx, c, args)
		},
		ask: func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
			m, err := modelArgument(ctx, c, args)
			return m, func(w io.Writer) {
				fmt.Fprintf(w, "epoch       %d\nrounds      %d applied\nhash        %s\nparameters  %d\n%s\n",
					m.Epoch, m.Round, m.Hash, len(m.Parameters)/8, base64.StdEncoding.EncodeToString(m.Parameters))
			}, err
		}},
	{use: "participants", example: "spdl query participants",
		short: "All participants: reputation and participations",
		path:  fixed("participants"),
		ask: table("/participants", "index\tmoniker\treputation\tparticipations\tactive\tpublic key",
			func(p app.Participant) string {
				return fmt.Sprintf("%d\t%q\t%.6f\t%d\t%t\t%s", p.Index, p.Moniker, float64(p.Reputation)/params.One,
					p.Participations, p.Active, base64.StdEncoding.EncodeToString(p.PubKey))
			})},
	{use: "params", example: "spdl query params > params.json",
		short: "The epoch's parameters", path: fixed("params"),
		ask: func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer), error) {
			p, err := c.Params(ctx)
			return p, nil, err
		}},
	{use: "privacy [PARTICIPANT]", example: "spdl query privacy 2",
		short: "What each participant's gradients have cost: epsilon, " +
			"budget, participations left", args: cobra.MaximumNArgs(1),
		ask: func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
			var all []query.Spend
			var index uint32
			var err error
			if len(args) == 0 {
				all, err = client.Ask[[]query.Spend](ctx, c, "/privacy")
			} else if index, err = ParticipantIndex(args[0]); err == nil {
				all = make([]query.Spend, 1)
				all[0], err = client.Ask[query.Spend](ctx, c, fmt.Sprintf("/privacy/%d", index))
			}
			return all, func(w io.Writer) { PrivacyText(w, all) }, err
		}},
}

// RoundNumbers reads the arguments [[EPOCH] ROUND].
func RoundNumbers(args []string) (numbers []uint64, err error) {
	if len(args) > 0 { // the explorer writes epoch 1, round 7 as 1/7
		args = strings.Split(strings.Join(args, "/"), "/")
	}
	if len(args) > 2 {
		return nil, command.Usage(fmt.Errorf("%q is no round, want ROUND, EPOCH ROUND or EPOCH/ROUND",
			strings.Join(args, "/")))
	}
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

// RoundArgs accepts [[EPOCH] ROUND], and EPOCH/ROUND.
var RoundArgs = cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
	_, err := RoundNumbers(args)
	return err
})

// IndexArg accepts one participant's index.
var IndexArg = cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
	_, err := ParticipantIndex(args[0])
	return err
})

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
	epochs, err := client.Ask[[]query.EpochState](ctx, c, "/epochs")
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
// that were not included are those of people; of these rejected says which the node rejected.
func RoundText(w io.Writer, r app.Record, people []app.Participant, cost string, rejected ...query.Rejection) {
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
		chainview.Witness{Rejections: rejected}.Reject(&v)
		score, opposed, reputation := "-", map[bool]string{false: "no", true: "yes"}[v.Opposed], "-"
		if v.Reputation != nil {
			score, reputation = fmt.Sprint(v.Score), fmt.Sprintf("%.6f", float64(*v.Reputation)/params.One)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t  %s\n", v.Participant, v.Fate, chainview.WeightText(v.Weight), score,
			opposed, reputation, v.Why)
	}
	_ = t.Flush()
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

// Path returns the query path for the arguments of a command.
type Path func(context.Context, *client.Client, []string) (string, error)

// Prove queries a value with its proof, and computes the application hash to which the proof leads.
func Prove(ctx context.Context, c *client.Client, path Path, args []string) (asked string, p client.ProvenAnswer,
	root [32]byte, err error) {
	if asked, err = path(ctx, c, args); err != nil {
		return asked, p, root, err
	}
	if p, err = c.Prove(ctx, asked); err != nil {
		return asked, p, root, err
	}
	root, err = p.Root()
	return asked, p, root, err
}

// fixed returns the Path of a question without arguments.
func fixed(path string) Path {
	return func(context.Context, *client.Client, []string) (string, error) { return path, nil }
}

// OfRound returns the Path of a value that the state holds for each round.
func OfRound(name string) Path {
	return func(ctx context.Context, c *client.Client, args []string) (string, error) {
		epoch, t, err := RoundArgument(ctx, c, args)
		return fmt.Sprintf("%s/%d/%d", name, epoch, t), err
	}
}

// prove answers a question by the value in the state and its proof.
func (q question) prove(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
	_, p, root, err := Prove(ctx, c, q.path, args)
	return struct {
		client.ProvenAnswer
		AppHash string `json:"app_hash"` // the application hash to which the proof leads
	}{p, hex.EncodeToString(root[:])}, nil, err
}

// weighed is a contribution with its weight, which the record leaves out.
type weighed struct {
	app.Contribution
	Weight *float64 `json:"weight"` // share of an equal part of Delta, from 0 to 1; null if the rule gives none
}

// pricedRound is the record of a closed round with its cost, which the record leaves out.
type pricedRound struct {
	app.Record
	Contributions []weighed `json:"contributions"` // those of the record
	// the largest spend after the round; null if unknown or without a guarantee
	Epsilon *float64 `json:"epsilon"`

	budget float64 // of the running epoch; 0 without a budget, or if the round is in another epoch
}

// weigh adds the weights to a record.
func weigh(r app.Record) pricedRound {
	p := pricedRound{Record: r, Contributions: []weighed{}}
	for _, c := range r.Contributions {
		p.Contributions = append(p.Contributions, weighed{c, query.WeightOf(&r, c)})
	}
	return p
}

// priced adds the weights to a record, and the spend from the event of the round's block.
func priced(ctx context.Context, c *client.Client, r app.Record) (p pricedRound, err error) {
	p = weigh(r)
	if p.Epsilon, err = c.EpsilonAt(ctx, r.Height); err != nil || p.Epsilon == nil {
		return p, err
	}
	status, err := c.Status(ctx)
	if err != nil || status.Epoch != r.Epoch {
		return p, err
	}
	running, err := c.Params(ctx)
	p.budget = running.Privacy.Epsilon
	return p, err
}

// cost describes what the round and the earlier rounds have cost.
func (p pricedRound) cost() string {
	switch {
	case p.Epsilon == nil:
		return "unknown: no DP guarantee, or the node has dropped the block's events"
	case p.budget > 0:
		return fmt.Sprintf("%s of %g", accountant.Text(*p.Epsilon), p.budget)
	}
	return accountant.Text(*p.Epsilon)
}
