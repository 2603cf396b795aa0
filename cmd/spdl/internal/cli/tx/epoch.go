package tx

import (
	"context"
	"fmt"
	"os"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/shape"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

func txStartEpoch() *cobra.Command {
	cmd := transact("start-epoch", "Propose the next epoch", nil, startEpoch)
	cmd.PreRunE = func(*cobra.Command, []string) error { return shape.CheckFlags() } // before a node is asked
	cmd.Long = cmd.Short + ": its parameters, from the present model or a new one. More than two thirds of the active\n" +
		"participants must approve. It opens when the running epoch's training is finished, or with --now at the next round boundary."
	shape.Flags(cmd, "the running epoch's")
	cmd.Flags().Bool("keep-model", false, "begin from the parameters of the model as they stand")
	cmd.Flags().Bool("now", false, "leave the rest of the running epoch out")
	return cmd
}

func startEpoch(ctx context.Context, s *sender, _ []string) (tx.Body, error) {
	status, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	p, err := shape.Params(status.Participants, func() (params.Params, error) { return s.Params(ctx) }, os.Stderr)
	if err != nil {
		return nil, err
	}
	self, err := s.self(ctx)
	if err != nil {
		return nil, err
	}
	if err := warnOfBudgets(ctx, s, p); err != nil {
		return nil, err
	}
	if w := node.TooLarge(p, status.Participants); w != "" {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	return app.NewStartEpoch(self.Index, self.Nonce+1, status.Epoch+1, p, viper.GetBool("keep-model"), viper.GetBool("now")), nil
}

// warnOfBudgets says whose budget is too small for an epoch after what was spent
// before.
func warnOfBudgets(ctx context.Context, s *sender, p params.Params) error {
	members, err := s.Participants(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if left := p.Privacy.Participations(m.Spent); m.Active && left < p.Training.Rounds {
			fmt.Fprintf(os.Stderr, "warning: participant %d has spent so much that epsilon %g pays for %d of the %d rounds: --epsilon is the budget over all epochs\n",
				m.Index, p.Privacy.Epsilon, left, p.Training.Rounds)
		}
	}
	return nil
}
