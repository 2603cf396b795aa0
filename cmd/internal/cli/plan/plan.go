// Package plan has the commands that help to choose before a training starts: plan and
// rules. They ask no node.
package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/plan"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// examples is the size of MNIST's training set.
const examples = 60000

// Command returns the command that computes the cost and the accuracy of a training. It asks no
// node.
func Command() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "plan",
		Short: "Compute noise or epsilon, feasibility, accuracy and traffic of a training before it starts",
		Long: `Compute noise or epsilon, feasibility, accuracy and traffic of a training before it starts.

The time of a round follows from --link, --latency, --step and --cores, unless --round-time says it: nobody is
silent, all links are alike, and each node has its cores to itself.

Give the target --epsilon or the --noise-multiplier, or --preset alone, which then sets
the noise. The preset decides whatever else is not given. Accuracy is shown where it
was measured on MNIST at these settings.`,
		Example: `  spdl plan --epsilon 1
  spdl plan --participants 20 --rule krum --epsilon 4 --round-time 5s
  spdl plan --preset mlp --output json
  spdl plan --preset external --model model.json -n 10 --link 1Gbit/s --latency 5ms --step 4s
  spdl plan --data patients.csv --label diagnosis --epsilon 1
  spdl plan --sampling-rate 0.0333333 --rounds 100 --delta 1e-6 --noise-multiplier 1.87`,
	}, func(r *command.Run, o *options, _ []string) error {
		in, err := o.input()
		if err != nil {
			return command.Usage(err)
		}
		p, err := plan.Make(in)
		switch {
		case plan.Wrong(err):
			return command.Usage(err)
		case err != nil:
			return err
		}
		return r.Show(p, p.Write)
	})
	flags(cmd)
	return cmd
}

// flags defines the flags of the command, whose values options holds.
func flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("preset", Plannable()[0], "parameters to start from: "+strings.Join(Plannable(), ", ")+
		"; or external, with --model")
	f.String("model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	f.String("data", "", "folder of IDX files, or CSV file, which the participants share evenly (default: MNIST)")
	f.String("label", "", "column of the labels in the CSV file")
	f.IntP("participants", "n", 4, "participants, N")
	f.IntP("byzantine", "f", 0, "Byzantine participants to withstand (default: (N-1)/3)")
	f.String("rule", "", "aggregation rule (default: the preset's)")
	f.Int("rounds", 0, "rounds (default: the preset's)")
	f.Int("samples", 0, "examples of each participant (default: those of the data over N)")
	f.Float64("sampling-rate", 0, "chance of an example to be in a round's batch (default: the preset's)")
	f.Int("batch", 0, "expected batch, instead of --sampling-rate")
	f.Float64("clip", 0, "bound on the norm of an example's gradient (default: the preset's)")
	f.Float64("epsilon", 0, "target epsilon of all rounds")
	f.Float64("noise-multiplier", 0, "noise over clip norm, instead of --epsilon")
	f.Float64("delta", 1e-6, "delta of the guarantee")
	f.String("accountant", "", "method that turns noise into epsilon: "+strings.Join(plan.Accountants(), ", ")+
		" (default: rdp, or lemma1 where the preset's noise is Lemma 1's)")
	f.Float64("learning-rate", 0, "learning rate in Lemma 1, which uses one (default: 0.01, the prototype's: the paper "+
		"states none)")
	f.Duration("round-time", 0, "time of a round, for the traffic (default: what the link makes of it)")
	f.String("link", "100Mbit/s", "rate of a node's link, each way: a number with kbit/s, Mbit/s or Gbit/s")
	f.Duration("latency", 20*time.Millisecond, "latency between two nodes, one way")
	f.Duration("step", 0, "time of a training step (default: a built-in model's by its size)")
	f.Int("cores", 2, "cores of a node")
	f.Int("peers", 0, "peers of a node (default: all others, 10 at most)")
	f.Bool("noise-floor", false, "validators reject vectors without noise (default: the preset's)")
	command.Values(cmd, "preset", Plannable()...)
	command.Values(cmd, "rule", rules.Names()...)
	command.Values(cmd, "accountant", plan.Accountants()...)
}

type options struct {
	Preset          *string        `mapstructure:"preset"`
	Model           string         `mapstructure:"model"`
	Data            string         `mapstructure:"data"`
	Label           string         `mapstructure:"label"`
	Participants    int            `mapstructure:"participants"`
	Byzantine       *int           `mapstructure:"byzantine"`
	Rule            string         `mapstructure:"rule"`
	Rounds          *int           `mapstructure:"rounds"`
	Samples         *int           `mapstructure:"samples"`
	SamplingRate    *float64       `mapstructure:"sampling-rate"`
	Batch           *int           `mapstructure:"batch"`
	Clip            *float64       `mapstructure:"clip"`
	Epsilon         *float64       `mapstructure:"epsilon"`
	NoiseMultiplier *float64       `mapstructure:"noise-multiplier"`
	Delta           float64        `mapstructure:"delta"`
	Accountant      *string        `mapstructure:"accountant"`
	LearningRate    float64        `mapstructure:"learning-rate"`
	RoundTime       *time.Duration `mapstructure:"round-time"`
	Link            string         `mapstructure:"link"`
	Latency         time.Duration  `mapstructure:"latency"`
	Step            time.Duration  `mapstructure:"step"`
	Cores           int            `mapstructure:"cores"`
	Peers           int            `mapstructure:"peers"`
	NoiseFloor      *bool          `mapstructure:"noise-floor"`
}

// Plannable returns the names of the presets that have an epsilon.
func Plannable() (names []string) {
	for _, name := range preset.Names() {
		if p, err := preset.New(name, 1); err == nil && p.Privacy.Mechanism == params.MechanismGaussian {
			names = append(names, name)
		}
	}
	return names
}

// input returns the input of the plan: a preset, changed by the flags.
func (o *options) input() (in plan.Input, err error) {
	n := o.Participants
	own, err := o.own()
	if err != nil {
		return in, err
	}
	p, err := preset.Make(command.Or(o.Preset, Plannable()[0]), n, own)
	if err != nil {
		return in, err
	}
	all := examples
	if own.Data != nil {
		all = own.Data.Examples
	}
	if p.Privacy.Mechanism != params.MechanismGaussian {
		return in, fmt.Errorf("preset %q has mechanism %q, which no epsilon describes: plan one of %s", p.Preset,
			p.Privacy.Mechanism, strings.Join(Plannable(), ", "))
	}
	method := plan.RDP
	if p.Privacy.Lemma1Epsilon != 0 { // the plan then shows the lemma's claim beside the true epsilon
		method = plan.Lemma1
	}
	in = plan.Input{
		Participants: n, Byzantine: int(p.Rule.Byzantine), Rule: p.Rule.Name,
		Model: model.SpecOf(p.Model),
		Width: gradients.Width(p.Grid.Width), NoiseFloor: p.Privacy.NoiseFloor,
		Samples: max(1, all/n), SamplingRate: p.Privacy.SamplingRate, Clip: p.Privacy.Clip,
		Momentum: p.Privacy.WorkerMomentum,
		Rounds:   int(p.Training.Rounds), Accountant: plan.Accountant(command.Or(o.Accountant, string(method))),
		Epsilon: command.Or(o.Epsilon, 0), NoiseMultiplier: command.Or(o.NoiseMultiplier, 0),
		Delta: o.Delta, LearningRate: o.LearningRate,
	}
	if p.Model.Kind == params.ModelExternal {
		in.Model, in.External = model.Spec{}, p.Model.Dim()
	}
	if p.Privacy.SamplingRate == 0 { // batches of fixed size count as the whole data set
		in.SamplingRate, in.Batch = 1, int(p.Privacy.Batch)
	}
	if o.Rule != "" {
		in.Rule = o.Rule
	}
	in.Byzantine, in.Rounds = command.Or(o.Byzantine, in.Byzantine), command.Or(o.Rounds, in.Rounds)
	in.Samples, in.Clip = command.Or(o.Samples, in.Samples), command.Or(o.Clip, in.Clip)
	if fits, ok := p.Privacy.Fits(in.Samples); !ok {
		in.Fits = fits
	}
	in.NoiseFloor = command.Or(o.NoiseFloor, in.NoiseFloor)
	if err := o.link(&in); err != nil {
		return in, err
	}
	in.Config = config(p, n)
	return in, o.privacy(&in, p.Privacy.NoiseMultiplier)
}

// link applies the flags that determine the time of a round.
func (o *options) link(in *plan.Input) (err error) {
	if o.RoundTime != nil {
		if in.RoundTime = *o.RoundTime; in.RoundTime <= 0 {
			return fmt.Errorf("round time %v, want it positive", in.RoundTime)
		}
	}
	in.Link = plan.Link{Latency: o.Latency, Step: o.Step, Cores: o.Cores, Peers: o.Peers}
	in.Link.Rate, err = plan.ParseRate(o.Link)
	return err
}

// config returns the limits and timeouts of a chain with these parameters: genesis' and a node's.
func config(p params.Params, n int) plan.Config {
	c, a := home.DefaultsFor(p, n, n)
	return plan.Config{
		BlockBytes: p.BlockBytes(n), MostBytes: types.MaxBlockSizeBytes, TxBytes: int64(c.Mempool.MaxTxBytes),
		Wait:    a.Proposal.Wait,
		Propose: c.Consensus.TimeoutPropose, Vote: min(c.Consensus.TimeoutPrevote, c.Consensus.TimeoutPrecommit),
	}
}

// own returns the data and the model that the flags name.
func (o *options) own() (own preset.Own, err error) {
	if o.Model+o.Data != "" { // otherwise input applies these flags to the finished preset
		own.Examples, own.Epsilon = max(0, command.Or(o.Samples, 0)), max(0, command.Or(o.Epsilon, 0))
		own.Rounds = uint64(max(0, command.Or(o.Rounds, 0)))
	}
	if o.Model != "" {
		m, err := preset.LoadModel(o.Model)
		if err != nil {
			return own, err
		}
		own.Model = &m
	}
	if o.Data == "" {
		if o.Label != "" {
			return own, fmt.Errorf("--label %q names a column of a CSV file: name the file with --data", o.Label)
		}
		return own, nil
	}
	d, err := preset.ReadData(o.Data, o.Label)
	own.Data = &d
	return own, err
}

// sampling applies --sampling-rate or --batch, which exclude each other.
func (o *options) sampling(in *plan.Input) error {
	switch rate, batch := o.SamplingRate != nil, o.Batch != nil; {
	case rate && batch:
		return errors.New("--sampling-rate and --batch: one of them")
	case rate:
		in.SamplingRate, in.Batch = *o.SamplingRate, 0
	case batch && in.Batch != 0:
		in.Batch = *o.Batch
	case batch:
		in.SamplingRate, in.Batch = 0, *o.Batch
	}
	return nil
}

// privacy applies the flags that exclude each other. presets is the preset's noise multiplier.
func (o *options) privacy(in *plan.Input, presets float64) error {
	if err := o.sampling(in); err != nil {
		return err
	}
	switch epsilon, noise := o.Epsilon != nil, o.NoiseMultiplier != nil; {
	case epsilon && noise:
		return errors.New("--epsilon and --noise-multiplier: one of them")
	case epsilon && !(in.Epsilon > 0):
		return fmt.Errorf("--epsilon is %v, want above 0", in.Epsilon)
	case noise && !(in.NoiseMultiplier > 0):
		return fmt.Errorf("--noise-multiplier is %v, want above 0", in.NoiseMultiplier)
	case epsilon || noise:
	case o.Preset != nil || o.Data != "":
		in.NoiseMultiplier = presets
	default:
		return errors.New("--epsilon, --noise-multiplier, --preset or --data is needed")
	}
	return nil
}
