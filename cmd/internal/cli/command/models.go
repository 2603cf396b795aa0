package command

import (
	"os"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker/trainer"
)

// Models are the options of a command that measures models.
type Models struct{ Data, Trainer string }

// Flags declares the options.
func (o *Models) Flags(cmd *cobra.Command) {
	Flag(cmd, &o.Data, "data", "", "folder of IDX files, or CSV file, to measure on (default: worker.data of the home, "+
		"else the embedded MNIST)")
	Flag(cmd, &o.Trainer, "trainer", "", "program, with arguments, that measures an external model (default: "+
		"worker.trainer of the home)")
}

// Evaluator returns an evaluator of models, with the data and the trainer of the options or, by
// default, of the home. The default home need not exist, and is not read if --node names a node.
// The caller closes the evaluator.
func (r *Run) Evaluator(node string, o Models) (*home.Evaluator, error) {
	c, w := config.DefaultConfig(), home.DefaultAppConfig().Worker
	if r.Named || node == "" {
		switch home, a, err := r.LoadHome(); {
		case err == nil:
			c, w = home, a.Worker
		case r.Named:
			return nil, err
		}
	}
	if o.Data != "" {
		w.Data = o.Data
	}
	if o.Trainer != "" {
		here, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		w.Trainer, w.TrainerDir = trainer.Argv(o.Trainer), here
		if err := home.TrainerOf(c, w, nil).Check(); err != nil {
			return nil, Usage(err)
		}
	}
	return home.EvaluatorOf(c, w), nil
}
