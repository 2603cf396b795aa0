package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
)

// queryTimeout bounds one query.
const queryTimeout = 10 * time.Second

// ask is a command that queries a node and shows the answer.
func ask(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer) error, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := client.New(viper.GetString("node"))
			if err != nil {
				return usageError{err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), queryTimeout)
			defer cancel()
			value, text, err := run(ctx, c, args)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), value, text)
		},
	}
	nodeFlag(cmd)
	return cmd
}

// statusCommand is CometBFT's status of the node.
func statusCommand() *cobra.Command {
	return ask("status", "CometBFT's status of a node: identity, sync, validator", nil,
		func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			s, err := c.RPC().Status(ctx)
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
			}
			return s, nil, nil
		})
}

func queryCommand() *cobra.Command {
	return group("query", "Ask a node about the training", queryStatus(), queryRound(), queryModel(), queryParticipants(), queryParams())
}

func queryStatus() *cobra.Command {
	return ask("status", "Height, round, leader ranking, application hash", nil,
		func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			s, err := c.Status(ctx)
			return s, func(w io.Writer) error {
				phase := "training"
				if s.Done {
					phase = "finished"
				}
				_, err := fmt.Fprintf(w, "chain         %s\nheight        %d\napp hash      %s\nepoch         %d\nround         %d of %d, %s\nranking       %v\nparticipants  %d, %d gradients pending\nmodel         %d parameters\nrule          %s\n",
					s.ChainID, s.Height, s.AppHash, s.Epoch, s.Round, s.Rounds, phase, s.Ranking, s.Participants, s.Pending, s.Dim, s.Rule)
				return err
			}, err
		})
}

func queryRound() *cobra.Command {
	return ask("round [number]", "A closed round: leader, view, every gradient's score and fate (default: the last)", cobra.MaximumNArgs(1),
		func(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer) error, error) {
			t, err := roundArgument(ctx, c, args)
			if err != nil {
				return nil, nil, err
			}
			r, err := c.Round(ctx, t)
			return r, func(w io.Writer) error { return roundText(w, r) }, err
		})
}

// roundArgument is the round asked for, or the last closed one.
func roundArgument(ctx context.Context, c *client.Client, args []string) (uint64, error) {
	if len(args) > 0 {
		t, err := strconv.ParseUint(args[0], 10, 64)
		if err != nil {
			return 0, usageError{fmt.Errorf("round %q is no number", args[0])}
		}
		return t, nil
	}
	s, err := c.Status(ctx)
	if err == nil && s.Round == 0 {
		err = fmt.Errorf("no round is closed yet")
	}
	return s.Round - 1, err
}

func roundText(w io.Writer, r app.Record) error {
	fmt.Fprintf(w, "round    %d of epoch %d\nheight   %d, opened at %d\nleader   %d in view %d of ranking %v\nrule     %s, margin %d\nDelta    %s\nmodel    %s\n\n",
		r.Round, r.Epoch, r.Height, r.Opened, r.Leader, r.View, r.Ranking, r.Rule, r.Margin, hex.EncodeToString(r.DeltaDigest), hex.EncodeToString(r.ModelHash))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "participant\tselected\tscore\tneighbours\topposed\treputation\t")
	for _, c := range r.Contributions {
		fmt.Fprintf(t, "%d\t%t\t%d\t%v\t%t\t%.6f\t\n", c.Participant, c.Selected, c.Score, c.Neighbours, c.Opposed, float64(c.Reputation)/app.One)
	}
	return t.Flush()
}

func queryModel() *cobra.Command {
	return ask("model", "The model's parameters: base64 of little-endian float64", nil,
		func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			m, err := c.Model(ctx)
			return m, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "epoch       %d\nround       %d\nhash        %s\nparameters  %d\n%s\n",
					m.Epoch, m.Round, m.Hash, len(m.Parameters)/8, base64.StdEncoding.EncodeToString(m.Parameters))
				return err
			}, err
		})
}

func queryParticipants() *cobra.Command {
	return ask("participants", "All participants: reputation and participations", nil,
		func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			ps, err := c.Participants(ctx)
			return ps, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "index\tmoniker\treputation\tparticipations\tactive\tpublic key")
				for _, p := range ps {
					fmt.Fprintf(t, "%d\t%q\t%.6f\t%d\t%t\t%s\n", p.Index, p.Moniker, float64(p.Reputation)/app.One, p.Participations, p.Active, base64.StdEncoding.EncodeToString(p.PubKey))
				}
				return t.Flush()
			}, err
		})
}

func queryParams() *cobra.Command {
	return ask("params", "The epoch's parameters", nil,
		func(ctx context.Context, c *client.Client, _ []string) (any, func(io.Writer) error, error) {
			p, err := c.Params(ctx)
			return p, nil, err
		})
}
