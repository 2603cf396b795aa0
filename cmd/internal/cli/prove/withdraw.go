package prove

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
	"github.com/spdl/spdl/privacy/accountant"
)

func auditWithdraw() *cobra.Command {
	o := &Blocks{}
	cmd := command.New(&cobra.Command{
		Use:   "withdraw PARTICIPANT [ARCHIVE]",
		Short: "Say what the model holds of a participant that leaves, and what a restart without it costs",
		Long: `Say what the model holds of a participant that leaves: the rounds that included its
gradients, the last model without any of them (round, height and hash), and what
training again from there costs: in rounds, and in the epsilon of each remaining
participant. Leaving changes no model, and no later model is free of gradients
that an earlier one held. It changes nothing and proposes nothing.

The blocks are replayed as by audit replay: of a stopped node's --home, of an
ARCHIVE, or of a running node by --node.`,
		Example: "  spdl audit withdraw 2 chain.spdl\n  spdl audit withdraw 2 --node tcp://127.0.0.1:26657 -o json",
		Args:    cobra.RangeArgs(1, 2),
	}, func(r *command.Run, args []string) error {
		participant, err := watch.ParticipantIndex(args[0])
		if err != nil {
			return err
		}
		return o.show(r, args[1:], func(src audit.Source, how audit.Options) (any, func(io.Writer), *audit.Report, error) {
			w, found, err := audit.RunWithdraw(r.Context, src, how, participant)
			return w, func(out io.Writer) { withdrawText(out, w) }, found, err
		})
	})
	o.Flags(cmd)
	return cmd
}

// withdrawText prints a withdrawal as text.
func withdrawText(out io.Writer, w *audit.Withdrawal) {
	membership := "active"
	if w.Left != nil {
		membership = fmt.Sprintf("left at height %d", *w.Left)
	}
	fmt.Fprintf(out, "participant   %d %q of %s, %s\n", w.Participant, w.Moniker, command.Plain(w.ChainID), membership)
	if w.First == nil {
		fmt.Fprintf(out, "gradients     none: no model of the chain holds any of it\nmodel         %s\n", pointText(w.Now))
		return
	}
	fmt.Fprintf(out, "gradients     %d, from %s to %s\n", w.Gradients, pointText(*w.First), pointText(*w.Last))
	undone := "leaving does not undo that"
	if w.RoundsAfter > 0 {
		undone = fmt.Sprintf("neither leaving nor the rounds since its last gradient (%d) undo that", w.RoundsAfter)
	}
	fmt.Fprintf(out, "model         %s: holds what these gradients taught it,\n              as every model does since "+
		"epoch %d round %d; %s\n", pointText(w.Now), w.First.Epoch, w.First.Round, undone)
	fmt.Fprintf(out, "last without  %s, model hash %s\n", pointText(w.Clean), w.Clean.Hash)
	fmt.Fprintf(out, "a restart     trains %d rounds again; what the chain has published stays published\n\n", w.Repeat)
	command.Table(out, "participant\tmoniker\trounds again\tepsilon now\tafter a restart\tadded\tbudget", w.Others,
		func(p audit.Restart) string {
			const none = "no ledger"
			budget := fmt.Sprintf("%g", p.Budget)
			if p.Beyond {
				budget += ", exceeded: a restart needs a larger one"
			}
			return fmt.Sprintf("%d\t%s\t%d\t%s\t%s\t%s\t%s", p.Participant, command.Plain(p.Moniker), p.Rounds,
				accountant.TextOr(p.Spent, none), accountant.TextOr(p.After, none), accountant.TextOr(p.Added, none), budget)
		})
}

func pointText(p audit.ModelPoint) string {
	if p.Initial {
		return "the initial model of genesis"
	}
	return fmt.Sprintf("epoch %d round %d (height %d)", p.Epoch, p.Round, p.Height)
}
