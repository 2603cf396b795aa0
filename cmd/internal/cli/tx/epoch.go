package tx

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/shape"
)

type epochOptions struct {
	signOptions
	shape                 shape.Options
	keepModel, now, force bool
}

func txStartEpoch() *cobra.Command {
	o := &epochOptions{}
	o.check = o.shape.Check
	short := "Propose the next epoch"
	cmd := transact(&cobra.Command{
		Use: "start-epoch", Short: short,
		Long: short + ": its parameters, from the present model or a new one. More than two thirds of the active\n" +
			"participants must approve. It opens when the running epoch's training is finished, or with --now at the next " +
			"round boundary.",
	}, &o.signOptions, o.body)
	o.shape.Flags(cmd, "the running epoch's")
	command.Flag(cmd, &o.keepModel, "keep-model", false, "begin from the parameters of the model as they stand")
	command.Flag(cmd, &o.now, "now", false, "leave the rest of the running epoch out")
	command.Flag(cmd, &o.force, "force", false, "propose it even where a participant's budget pays for none of its "+
		"rounds")
	return cmd
}

func (o *epochOptions) body(ctx context.Context, s *sender, _ []string) (tx.Body, error) {
	status, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	p, err := o.shape.Shape(status.Participants, func() (params.Params, error) { return s.Params(ctx) }, s.run.Warn)
	if err != nil {
		return nil, err
	}
	self, err := s.self(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkBudgets(ctx, s, p, o.force); err != nil {
		return nil, err
	}
	running, err := s.Params(ctx)
	if err != nil {
		return nil, err
	}
	if w := home.TooLarge(running, p, status.Participants); w != "" {
		s.run.Warn(w)
	}
	return app.NewStartEpoch(self.Index, self.Nonce+1, status.Epoch+1, p, o.keepModel, o.now), nil
}

// checkBudgets warns of participants whose remaining budget does not pay for all rounds of an
// epoch. It rejects, unless forced, an epoch in which a participant could not train at all.
func checkBudgets(ctx context.Context, s *sender, p params.Params, force bool) error {
	members, err := s.Participants(ctx)
	if err != nil {
		return err
	}
	var short, broke []uint32
	least, poorest := p.Training.Rounds, uint32(0)
	for _, m := range members {
		left := p.Privacy.Participations(m.Spent)
		if !m.Active || left >= p.Training.Rounds {
			continue
		}
		if left == 0 {
			broke = append(broke, m.Index)
		}
		if short = append(short, m.Index); left < least {
			least, poorest = left, m.Index
		}
	}
	if len(short) > 0 {
		s.run.Warn(fmt.Sprintf("participants %v have spent so much that epsilon %g does not pay for all rounds; it pays "+
			"for %d of the %d rounds of participant %d: --epsilon is the budget over all epochs",
			short, p.Privacy.Epsilon, least, p.Training.Rounds, poorest))
	}
	if len(broke) > 0 && !force {
		return command.Usage(fmt.Errorf("epsilon %g pays for 0 of the %d rounds of participants %v after what they spent: "+
			"take a larger --epsilon, or say --force",
			p.Privacy.Epsilon, p.Training.Rounds, broke))
	}
	return nil
}
