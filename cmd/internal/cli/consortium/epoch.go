package consortium

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/study"
)

type epochOptions struct {
	signOptions
	shape                 study.Options
	keepModel, now, force bool
}

func txStartEpoch() *cobra.Command {
	o := &epochOptions{}
	o.check = o.shape.Check
	short := "Propose the next epoch"
	cmd := acting(&cobra.Command{
		Use: "start-epoch", Short: short,
		Long: short + ": its parameters, from the present model or a new one. More than two thirds of the active\n" +
			"participants must approve. It opens when the running epoch's training is finished, or with --now at the next " +
			"round boundary.",
		Example: "  spdl tx start-epoch --home ./node --rounds 200 --keep-model\n" +
			"  spdl tx start-epoch --home ./node --params study/params.json --now",
	}, &o.signOptions, o.body)
	o.shape.Flags(cmd, "the running epoch's")
	command.Flag(cmd, &o.keepModel, "keep-model", false, "begin from the parameters of the model as they stand")
	command.Flag(cmd, &o.now, "now", false, "leave the rest of the running epoch out")
	command.Flag(cmd, &o.force, "force", false, "propose it even where a participant's budget pays for none of its rounds")
	return cmd
}

func (o *epochOptions) body(ctx context.Context, s *sender, self app.Participant, _ []string) (tx.Body, error) {
	status, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	p, err := o.shape.Shape(status.Participants, func() (params.Params, error) { return s.Params(ctx) }, s.run.Warn)
	if err != nil {
		return nil, study.AfterSpend(err, status.Epsilon)
	}
	if err := s.checkEpoch(ctx, p, status.Participants, o.force, "--force"); err != nil {
		return nil, err
	}
	return app.NewStartEpoch(self.Index, self.Nonce+1, status.Epoch+1, p, o.keepModel, o.now), nil
}

// checkEpoch warns of participants whose remaining budget does not pay for all rounds of an epoch of n
// participants, and of transactions that running nodes reject. It rejects, unless forced, an epoch in
// which a participant could not train at all; flag is the flag that forces it.
func (s *sender) checkEpoch(ctx context.Context, p params.Params, n int, forced bool, flag string) error {
	running, err := s.Params(ctx)
	if err != nil {
		return err
	}
	members, err := s.Participants(ctx)
	if err != nil {
		return err
	}
	warning, broke, err := study.CheckBudgets(members, p)
	if err != nil {
		return err
	}
	for _, w := range []string{warning, home.TooLarge(running, p, n)} {
		if w != "" {
			s.run.Warn(w)
		}
	}
	if len(broke) > 0 && !forced {
		return command.Usage(fmt.Errorf("epsilon %g pays for 0 of the %d rounds of participants %v after what they spent "+
			"before: take a larger --epsilon, or say %s", p.Privacy.Epsilon, p.Training.Rounds, broke, flag))
	}
	return nil
}
