// Package top watches a node.
package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/query"
)

// All ANSI sequences that top writes.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // the other screen, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// monikerRunes is the number of characters of a moniker that are shown.
const monikerRunes = 32

// Glance is what top shows.
type Glance struct {
	At          time.Time       `json:"at"`
	Moniker     string          `json:"moniker"` // of the node
	Peers       int             `json:"peers"`
	CatchingUp  bool            `json:"catching_up"`
	BlockAge    float64         `json:"block_age_s"`
	Status      abci.Status     `json:"status"`
	Last        *app.Record     `json:"last_round"` // null before the first is closed
	Timing      *abci.Timing    `json:"timing"`     // of the last round, null where the node has none
	Standings   []abci.Standing `json:"participants"`
	Spend       []abci.Spend    `json:"spend"`
	Refused     []abci.Refusal  `json:"refused"`               // gradients of the last round that the node did not admit
	Unreachable string          `json:"unreachable,omitempty"` // why the figures are old
}

func Command() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "top",
		Short: "Watch a running node until Ctrl-C: round, leader, stages, reputation, epsilon",
	}, runTop)
	command.NodeFlag(cmd)
	cmd.Flags().Bool("once", false, "show it once and end")
	cmd.Flags().Duration("interval", time.Second, "time between two looks")
	return cmd
}

type options struct {
	command.Node `mapstructure:",squash"`
	Once         bool          `mapstructure:"once"`
	Interval     time.Duration `mapstructure:"interval"`
}

func runTop(r *command.Run, o *options, _ []string) error {
	c, err := r.Client(o.Node)
	if err != nil {
		return err
	}
	if o.Interval < 100*time.Millisecond {
		return command.Usage(fmt.Errorf("--interval is %v, want at least 100ms", o.Interval))
	}
	ctx, w := r.Context, r.Out
	g, err := look(ctx, c)
	if err != nil {
		return err
	}
	if o.Once {
		return r.Show(g, func(w io.Writer) error { return topText(w, g) })
	}
	screen := !r.JSON && command.IsTerminal(w)
	if screen {
		fmt.Fprint(w, enterScreen)
		defer fmt.Fprint(w, leaveScreen)
	}
	for {
		if err := frame(w, g, screen, r.JSON); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.Interval):
		}
		now, err := look(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil: // it may come back
			g.Unreachable = err.Error()
		default:
			g = now
		}
	}
}

// frame writes one glance: on a screen over the last one, elsewhere below it, and with
// -o json as one line of JSON.
func frame(w io.Writer, g *Glance, screen, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(g)
	}
	var text strings.Builder
	if err := topText(&text, g); err != nil {
		return err
	}
	if !screen {
		_, err := fmt.Fprintln(w, text.String())
		return err
	}
	_, err := io.WriteString(w, homeCursor+strings.ReplaceAll(text.String(), "\n", clearLine+"\n")+clearBelow)
	return err
}

// look asks the node for all that is shown.
func look(ctx context.Context, c *client.Client) (*Glance, error) {
	ctx, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	g := &Glance{At: time.Now()}
	comet, err := c.RPC().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	g.Moniker, g.CatchingUp = comet.NodeInfo.Moniker, comet.SyncInfo.CatchingUp
	if at := comet.SyncInfo.LatestBlockTime; at.Unix() > 0 {
		g.BlockAge = g.At.Sub(at).Seconds()
	}
	if net, err := c.RPC().NetInfo(ctx); err == nil {
		g.Peers = net.NPeers
	}
	if g.Status, err = c.Status(ctx); err != nil {
		return nil, err
	}
	if g.Standings, err = c.Reputation(ctx); err != nil {
		return nil, err
	}
	if g.Spend, err = c.Privacy(ctx); err != nil {
		return nil, err
	}
	if g.Status.Round == 0 {
		return g, nil
	}
	r, err := c.RoundOf(ctx, g.Status.Epoch, g.Status.Round-1)
	var refusal *client.Refusal
	switch {
	case errors.As(err, &refusal): // a node after state sync does not hold it
		return g, nil
	case err != nil:
		return nil, err
	}
	g.Last = &r
	if g.Refused, err = c.RefusalsOf(ctx, r.Epoch, r.Round); err != nil && !errors.As(err, &refusal) { // a node of an earlier release has no such path
		return nil, err
	}
	if t, err := c.TimingOf(ctx, r.Epoch, r.Round); err == nil {
		g.Timing = &t
	}
	return g, nil
}

func topText(w io.Writer, g *Glance) error {
	s := g.Status
	phase := "training"
	switch {
	case g.CatchingUp:
		phase = "catching up"
	case s.Done:
		phase = "finished"
	}
	fmt.Fprintf(w, "%s  %s  %s  %d peers  %s\n", name(s.ChainID), name(g.Moniker), g.At.Format(time.TimeOnly), g.Peers, phase)
	if s.TestChain {
		fmt.Fprintln(w, query.TestChain)
	}
	if g.Unreachable != "" {
		fmt.Fprintf(w, "NO ANSWER, old figures: %s\n", oneLine(g.Unreachable, 100))
	}
	fmt.Fprintf(w, "height %d, %.1f s ago   epoch %d   round %d of %d %s   %d of %d gradients pending   rule %s\n",
		s.Height, g.BlockAge, s.Epoch, s.Round, s.Rounds, meter(s.Round, s.Rounds), s.Pending, s.Participants, name(s.Rule))
	if r := g.Last; r != nil {
		fmt.Fprintf(w, "last round %d   leader %d in view %d   %d included", r.Round, r.Leader, r.View, len(r.Contributions))
		if t := g.Timing; t != nil {
			fmt.Fprintf(w, "   LGC %.1f ms   GE %.1f ms   BC %.1f ms", t.LGC, t.GE, t.BC)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "next leaders %v\n\n", firstOf(s.Ranking, 8))
	return standingsText(w, g)
}

// standingsText writes a line for each participant.
func standingsText(w io.Writer, g *Glance) error {
	spend := map[uint32]abci.Spend{}
	for _, p := range g.Spend {
		spend[p.Participant] = p
	}
	last := map[uint32]app.Contribution{}
	if g.Last != nil {
		for _, c := range g.Last.Contributions {
			last[c.Participant] = c
		}
	}
	refused := map[uint32]string{}
	for _, x := range g.Refused {
		if x.Signed {
			refused[x.Participant] = x.Reason
		}
	}
	// Monikers are last in a line: however wide they are, no column moves.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "participant\treputation\tlast round\tgradients\tepsilon\tbudget\tleft\toffences\tmoniker")
	for _, p := range g.Standings {
		c, there := last[p.Participant]
		epsilon, left, budget := "-", "-", "-"
		if a, ok := spend[p.Participant]; ok && a.Epsilon != nil {
			epsilon, budget = fmt.Sprintf("%.4f", *a.Epsilon), fmt.Sprintf("%g", a.Budget)
			if a.Left != nil {
				left = fmt.Sprint(*a.Left)
			}
		}
		fmt.Fprintf(t, "%d\t%.3f\t%s\t%d\t%s\t%s\t%s\t%d\t%s\n",
			p.Participant, float64(p.Reputation)/params.One, fateOf(c, there, refused[p.Participant]), p.Participations, epsilon, budget, left, p.Offences, name(p.Moniker))
	}
	return t.Flush()
}

// fateOf says what became of a gradient in the last round. Refused is why the node did not admit it, "" if
// it saw none that it refused.
func fateOf(c app.Contribution, there bool, refused string) string {
	fate := "left out"
	switch {
	case !there && refused != "":
		return "refused: " + name(refused)
	case !there:
		return "absent"
	case c.Selected:
		fate = "selected"
	}
	if c.Opposed {
		fate += ", opposed"
	}
	return fate
}

// meter draws a share of 20 cells.
func meter(x, of uint64) string {
	const cells = 20
	full := 0
	if of > 0 {
		full = int(min(x, of) * cells / of)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
}

func firstOf(list []uint32, n int) []uint32 { return list[:min(n, len(list))] }

// name returns a foreign name as one short line, without anything that drives a terminal,
// changes the direction of text or piles marks upon it.
func name(text string) string { return oneLine(text, monikerRunes) }

func oneLine(text string, runes int) string {
	out := make([]rune, 0, runes)
	for _, r := range text {
		if len(out) == runes {
			return string(append(out[:runes-1], '…'))
		}
		if !unicode.IsPrint(r) || unicode.IsMark(r) {
			r = unicode.ReplacementChar
		}
		out = append(out, r)
	}
	return string(out)
}
