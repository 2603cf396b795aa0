// Package plan has the commands that help to choose before a training starts: plan and
// rules. They ask no node.
package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist/model"
	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/privacy/plan"
)

// examples is how many MNIST holds for training.
const examples = 60000

// Command computes what a training would cost and give. It asks no node.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Compute noise or epsilon, feasibility, accuracy and traffic of a training before it starts",
		Long: `Compute noise or epsilon, feasibility, accuracy and traffic of a training before it starts.

Give the target --epsilon or the --noise-multiplier; with --preset and neither it
is the preset's. What is not given is the preset's too. Accuracy is what was
measured at these settings on MNIST, or none.`,
		Example: `  spdl plan --epsilon 1
  spdl plan --participants 20 --rule krum --epsilon 4 --round-time 5s
  spdl plan --preset mlp --output json
  spdl plan --sampling-rate 0.0333333 --rounds 100 --delta 1e-6 --noise-multiplier 1.87`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := planInput()
			if err != nil {
				return command.Usage(err)
			}
			p, err := plan.Make(in)
			switch {
			case errors.Is(err, plan.ErrInput), errors.Is(err, accountant.ErrParameter):
				return command.Usage(err)
			case err != nil:
				return err
			}
			return command.Show(cmd.OutOrStdout(), p, p.Write)
		},
	}
	f := cmd.Flags()
	f.String("preset", Plannable()[0], "parameters to start from: "+strings.Join(Plannable(), ", "))
	f.IntP("participants", "n", 4, "participants, N")
	f.IntP("byzantine", "f", -1, "Byzantine participants to withstand (default: (N-1)/3)")
	f.String("rule", "", "aggregation rule (default: the preset's)")
	f.Int("rounds", 0, "rounds (default: the preset's)")
	f.Int("samples", 0, "examples of each participant (default: 60000/N)")
	f.Float64("sampling-rate", 0, "chance of an example to be in a round's batch (default: the preset's)")
	f.Int("batch", 0, "expected batch, instead of --sampling-rate")
	f.Float64("clip", 0, "bound on the norm of an example's gradient (default: the preset's)")
	f.Float64("epsilon", 0, "target epsilon of all rounds")
	f.Float64("noise-multiplier", 0, "noise over clip norm, instead of --epsilon")
	f.Float64("delta", 1e-6, "delta of the guarantee")
	f.String("accountant", string(plan.RDP), "who turns noise into epsilon: "+strings.Join(plan.Accountants(), ", "))
	f.Float64("learning-rate", 0, "learning rate in Lemma 1, which uses one (default: the paper's 0.01)")
	f.Duration("round-time", time.Second, "time of a round, for the traffic")
	f.Bool("noise-floor", false, "validators refuse vectors without noise (default: the preset's)")
	command.NoDefault(f, "byzantine")
	return cmd
}

// Plannable lists the presets that have an epsilon.
func Plannable() (names []string) {
	for _, name := range preset.Names() {
		if p, err := preset.New(name, 1); err == nil && p.Privacy.Mechanism == params.MechanismGaussian {
			names = append(names, name)
		}
	}
	return names
}

// planInput is what the flags ask for, on top of a preset.
func planInput() (in plan.Input, err error) {
	n := viper.GetInt("participants")
	p, err := preset.New(viper.GetString("preset"), n)
	if err != nil {
		return in, err
	}
	if p.Privacy.Mechanism != params.MechanismGaussian {
		return in, fmt.Errorf("preset %q has mechanism %q, which no epsilon describes: plan one of %s", p.Preset, p.Privacy.Mechanism, strings.Join(Plannable(), ", "))
	}
	in = plan.Input{
		Participants: n, Byzantine: int(p.Rule.Byzantine), Rule: p.Rule.Name,
		Model: model.SpecOf(p.Model),
		Width: gradients.Width(p.Grid.Width), NoiseFloor: p.Privacy.NoiseFloor, RoundTime: viper.GetDuration("round-time"),
		Samples: max(1, examples/n), SamplingRate: p.Privacy.SamplingRate, Clip: p.Privacy.Clip, Momentum: p.Privacy.WorkerMomentum,
		Rounds: int(p.Training.Rounds), Accountant: plan.Accountant(viper.GetString("accountant")),
		Epsilon: viper.GetFloat64("epsilon"), NoiseMultiplier: viper.GetFloat64("noise-multiplier"),
		Delta: viper.GetFloat64("delta"), LearningRate: viper.GetFloat64("learning-rate"),
	}
	if viper.IsSet("byzantine") {
		in.Byzantine = viper.GetInt("byzantine")
	}
	if rule := viper.GetString("rule"); rule != "" {
		in.Rule = rule
	}
	if viper.IsSet("rounds") {
		in.Rounds = viper.GetInt("rounds")
	}
	if viper.IsSet("samples") {
		in.Samples = viper.GetInt("samples")
	}
	if viper.IsSet("clip") {
		in.Clip = viper.GetFloat64("clip")
	}
	if viper.IsSet("noise-floor") {
		in.NoiseFloor = viper.GetBool("noise-floor")
	}
	return in, planPrivacy(&in, p.Privacy.NoiseMultiplier)
}

// planPrivacy settles the flags of which one stands for another.
func planPrivacy(in *plan.Input, presets float64) error {
	switch rate, batch := viper.IsSet("sampling-rate"), viper.IsSet("batch"); {
	case rate && batch:
		return errors.New("--sampling-rate and --batch: one of them")
	case rate:
		in.SamplingRate = viper.GetFloat64("sampling-rate")
	case batch:
		in.SamplingRate, in.Batch = 0, viper.GetInt("batch")
	}
	switch epsilon, noise := viper.IsSet("epsilon"), viper.IsSet("noise-multiplier"); {
	case epsilon && noise:
		return errors.New("--epsilon and --noise-multiplier: one of them")
	case epsilon && !(in.Epsilon > 0):
		return fmt.Errorf("--epsilon is %v, want above 0", in.Epsilon)
	case noise && !(in.NoiseMultiplier > 0):
		return fmt.Errorf("--noise-multiplier is %v, want above 0", in.NoiseMultiplier)
	case epsilon || noise:
	case viper.IsSet("preset"):
		in.NoiseMultiplier = presets
	default:
		return errors.New("--epsilon, --noise-multiplier or --preset is needed")
	}
	return nil
}
