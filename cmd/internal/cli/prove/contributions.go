package prove

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/contribution"
)

type contributionsOptions struct {
	Blocks
	data        string
	csv         bool
	pairs, seed uint64
	epoch       *uint64
}

func auditContributions() *cobra.Command {
	o := &contributionsOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "contributions [ARCHIVE]",
		Short: "Estimate what each participant's gradients added, on a test set that the members agree on",
		Long: `Estimate what each participant's gradients added to the model, in nats of the
loss on a test set that the members agree on: the leave-one-out value, and a
Shapley value sampled over permutations, both summed over the rounds, with 95 %
intervals. The blocks are replayed as by audit replay: of a stopped node's
--home, of an ARCHIVE, or of a running node by --node. It reads published
gradients alone, and so costs no epsilon.

Copied gradients are credited to nobody. The same blocks, --seed and --pairs give
the same numbers wherever the printed hash of the inputs is the same: for models
on pixels on every machine. The feature map strokes is rounded as the CPU rounds,
so that another kind of CPU may print another hash, and values that differ in
their last digits. docs/VERIFY.md says how to read them, and what they
cannot tell.`,
		Example: `  spdl audit contributions chain.spdl --data ./agreed-test-set
  spdl audit contributions --home ./net/node0 --csv > contributions.csv`,
		Args: cobra.MaximumNArgs(1),
	}, o.run)
	o.Flags(cmd)
	command.Flag(cmd, &o.data, "data", "", "folder of IDX files, or CSV file, with the test set (default: the embedded "+
		"MNIST)")
	command.Flag(cmd, &o.pairs, "pairs", 2, "pairs of permutations a round, each with its reverse").Positive()
	command.Flag(cmd, &o.seed, "seed", 1, "seed of the permutations")
	command.Optional(cmd, &o.epoch, "epoch", "epoch to measure (default: all)")
	command.Flag(cmd, &o.csv, "csv", false, "write CSV: a line for each participant")
	return cmd
}

// maxPairs bounds --pairs. More pairs do not change the result by more than the randomness of the rounds does.
const maxPairs = 1 << 16

func (o *contributionsOptions) run(r *command.Run, args []string) (err error) {
	switch {
	case o.csv && r.JSON:
		return command.Usage(errors.New("--csv and -o json: one of them"))
	case o.pairs > maxPairs:
		return command.Usage(fmt.Errorf("--pairs is %d, at most %d", o.pairs, maxPairs))
	}
	return o.show(r, args, func(src audit.Source, how audit.Options) (any, func(io.Writer), *audit.Report, error) {
		found, report, err := o.estimate(r, src, how)
		if o.csv {
			return report, report.CSV, found, err
		}
		return report, report.Text, found, err
	})
}

// estimate replays the chain and adds up its rounds.
func (o *contributionsOptions) estimate(r *command.Run, src audit.Source, how audit.Options) (*audit.Report,
	contribution.Report, error) {
	none := contribution.Report{}
	g, err := app.DecodeGenesis(cmp.Or(how.Genesis, src.Genesis()).AppState)
	if err != nil {
		return nil, none, err
	}
	test, err := home.LoadTest(o.data, g.Params.Model)
	if err != nil {
		return nil, none, fmt.Errorf("--data: %w", err)
	}
	e, err := contribution.New(contribution.Options{Test: test, Pairs: int(o.pairs), Seed: o.seed, Epoch: o.epoch})
	if err != nil {
		return nil, none, err
	}
	var last *app.State
	how.Executed = func(b audit.Executed) error {
		last = b.State
		if b.Record == nil {
			return nil
		}
		round, _ := app.Block{Txs: b.Txs}.Round()
		return e.Round(b.Before, round)
	}
	found, err := audit.Run(r.Context, src, how)
	if err != nil {
		return found, none, err
	}
	if last == nil {
		return found, none, errors.New("the chain has no blocks")
	}
	report := e.Report(last)
	if report.Rounds == 0 {
		if o.epoch != nil {
			return found, none, fmt.Errorf("--epoch: epoch %d has no closed round, the chain is in epoch %d", *o.epoch,
				last.Progress.Epoch)
		}
		return found, none, errors.New("the chain has no closed round to measure")
	}
	return found, report, nil
}
