// Package study has the commands before a chain: schema drafts the schema of a table and checks files by it, plan and
// rules help with decisions, new writes a study and trainer checks its trainer. Options are the flags for the
// parameters of an epoch, in a genesis and in a proposal of a later epoch. No command queries a node.
package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/plan"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/privacy/accountant"
)

// examples is the size of MNIST's training set.
const examples = 60000

// Plan returns the command that computes the cost and the accuracy of a training. It asks no node.
func Plan() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "plan",
		Short: "Compute noise, accuracy and traffic before a training",
		Long: `Say what a training protects and whether it is worth it; compute noise or epsilon, feasibility, accuracy and
traffic, before it starts.

The time of a round follows from --link, --latency, --step and --cores, unless --round-time says it: nobody is
silent, all links are alike, and each node has its cores to itself.

Give the target --epsilon or the --noise-multiplier, or --params or --preset alone, which then sets the noise. The
parameters decide whatever else is not given, and the participants share the rows of --data evenly, or those of
MNIST. Accuracy is shown where it was measured on MNIST at these settings.`,
		Example: `  spdl plan --epsilon 1
  spdl plan --participants 20 --rule krum --epsilon 4 --round-time 5s
  spdl plan --preset mlp --output json
  spdl plan --preset external --model model.json -n 10 --link 1Gbit/s --latency 5ms --step 4s
  spdl plan --params study/params.json -n 4
  spdl plan --data patients.csv --label diagnosis --epsilon 1
  spdl plan --sampling-rate 0.0333333 --rounds 100 --delta 1e-6 --noise-multiplier 1.88`,
	}, o.run)
	o.declare(cmd)
	return cmd
}

func (o *options) run(r *command.Run, _ []string) error {
	if err := o.complete(r); err != nil {
		return command.Usage(err)
	}
	p, err := plan.Make(o.Input)
	switch {
	case errors.Is(err, plan.ErrInput), errors.Is(err, accountant.ErrParameter):
		return command.Usage(err)
	case err != nil:
		return err
	}
	made := o.planned(p)
	if p.Public, err = plan.Public(made); err != nil {
		return err
	}
	if early := preset.StopsEarly(made); early != "" {
		p.Warnings = append(p.Warnings, early)
	}
	if err := r.Show(p, p.Text); err != nil || o.force {
		return err
	}
	return preset.CheckTable(made, p.Participants, p.Samples)
}

// planned returns the parameters of a plan, as far as the check of its tables reads them.
func (o *options) planned(p plan.Plan) params.Params {
	made := o.params
	made.Rule.Byzantine, made.Training.Rounds = uint32(p.Byzantine), uint64(p.Rounds)
	v := &made.Privacy
	v.Batch, v.SamplingRate, v.Clip, v.WorkerMomentum = uint32(p.Batch), p.SamplingRate, p.Clip, p.Momentum
	v.NoiseMultiplier, v.Epsilon, v.Delta = p.NoiseMultiplier, cmp.Or(o.Epsilon, p.Epsilon), p.Delta
	return made
}

// options are the flags: fields of the plan's input, and values from which its other fields follow.
type options struct {
	plan.Input
	Origin
	rate string

	force  bool
	params params.Params // of the file, or of the preset with the data and the model
}

func (o *options) declare(cmd *cobra.Command) {
	o.Flags(cmd, Plannable(), Plannable()[0], "the preset")
	command.Flag(cmd, &o.Participants, "participants,n", 4, "participants, N")
	command.Flag(cmd, &o.Byzantine, "byzantine,f", 0, "Byzantine participants to withstand (default: (N-1)/3)")
	command.Flag(cmd, &o.Rule, "rule", "", "aggregation rule (default: the preset's)").Values(rules.Names()...)
	command.Flag(cmd, &o.Rounds, "rounds", 0, "rounds (default: the preset's)")
	command.Flag(cmd, &o.Samples, "examples", 0, "examples of each participant (default: those of the data over N)")
	command.Flag(cmd, &o.Sites, "sites", nil, "training rows of each site, four fifths of its file, as 150,400,2000, in "+
		"place of --examples, which is their mean, and of -n")
	command.Flag(cmd, &o.SamplingRate, "sampling-rate", 0, "chance of an example to be in a batch (default: the preset's)")
	command.Flag(cmd, &o.Batch, "batch", 0, "expected batch, instead of --sampling-rate")
	command.Flag(cmd, &o.Clip, "clip", 0, "bound on the norm of an example's gradient (default: the preset's)")
	command.Flag(cmd, &o.Epsilon, "epsilon", 0, "target epsilon of all rounds").Positive()
	command.Flag(cmd, &o.NoiseMultiplier, "noise-multiplier", 0, "noise over clip norm, instead of --epsilon").Positive()
	command.Flag(cmd, &o.Delta, "delta", 1e-6, "delta of the guarantee")
	command.Flag(cmd, (*string)(&o.Accountant), "accountant", "", "method that turns noise into epsilon: "+
		strings.Join(plan.Accountants(), ", ")+"; gdp is analytic (default: rdp, analytic where a round takes all examples, "+
		"or lemma1 where the preset's noise is Lemma 1's)").Values(plan.Accountants()...)
	command.Flag(cmd, &o.LearningRate, "learning-rate", 0, "learning rate in Lemma 1 (default: the prototype's 0.01)")
	command.Flag(cmd, &o.RoundTime, "round-time", 0, "time of a round (default: what the link makes of it)").Positive()
	command.Flag(cmd, &o.rate, "link", "100Mbit/s", "rate of a node's link, each way, in kbit/s, Mbit/s or Gbit/s")
	command.Flag(cmd, &o.Link.Latency, "latency", 20*time.Millisecond, "latency between two nodes, one way")
	command.Flag(cmd, &o.Link.Step, "step", 0, "time of a training step (default: a built-in model's by its size)")
	command.Flag(cmd, &o.Link.Cores, "cores", 2, "cores of a node")
	command.Flag(cmd, &o.Link.Peers, "peers", 0, "peers of a node (default: all others, 10 at most)")
	command.Flag(cmd, &o.Link.Nodes, "validators", 0, "nodes, each a validator; the other participants have a worker "+
		"without a node (default: one for each participant)").Positive()
	command.Flag(cmd, &o.force, "force", false, "accept tables that have too few rows for their epsilon")
	command.Flag(cmd, &o.NoiseFloor, "noise-floor", false, "reject vectors without noise (default: the preset's)")
}

// Plannable returns the names of the presets that have an epsilon.
func Plannable() []string {
	return slices.DeleteFunc(preset.Names(), func(name string) bool {
		p, err := preset.New(name, 1)
		return err != nil || p.Privacy.Mechanism != params.MechanismGaussian
	})
}

// complete fills in the input. A field without a flag gets the preset's value.
func (o *options) complete(r *command.Run) error {
	sum := 0
	for _, n := range o.Sites {
		if sum += n; n < 1 || r.Given(&o.Samples) || r.Given(&o.Participants) {
			return fmt.Errorf("--sites has %d: want at least 1 example each, and no --examples or -n, which follow", n)
		}
		o.Participants, o.Samples = len(o.Sites), sum/len(o.Sites)
	}
	p, all, err := o.base(r)
	if err != nil {
		return err
	}
	o.params, all = p, cmp.Or(sum, all)
	if p.Privacy.Mechanism != params.MechanismGaussian {
		return fmt.Errorf("preset %q has mechanism %q, which no epsilon describes: plan one of %s", p.Preset,
			p.Privacy.Mechanism, strings.Join(Plannable(), ", "))
	}
	if err := r.Defaults(func() error { o.Take(p, all); return nil }); err != nil {
		return err
	}
	if fits, ok := p.Privacy.Fits(o.Samples); !ok {
		o.Fits = fits
	}
	if o.Link.Rate, err = plan.ParseRate(o.rate); err != nil {
		return err
	}
	if o.Link.Nodes > o.Participants {
		return command.Usage(fmt.Errorf("--validators is %d, at most the %d participants: -n %d plans for more",
			o.Link.Nodes, o.Participants, o.Link.Nodes))
	}
	o.Config = config(p, o.Participants, cmp.Or(o.Link.Nodes, o.Participants))
	return o.privacy(r, p.Privacy)
}

// base returns the parameters to start from, and the number of examples of all participants: by
// default those for which the batch of --params is meant.
func (o *options) base(r *command.Run) (p params.Params, all int, err error) {
	if o.Params == "" {
		own, err := o.own()
		if err != nil {
			return p, 0, err
		}
		all = examples
		if own.Data != nil {
			all = own.Data.Examples
		}
		p, err = preset.Make(o.Preset, o.Participants, own)
		return p, all, err
	}
	if r.Given(&o.Preset) || o.Origin.Model+o.Data+o.Label+o.Group+o.Schema != "" {
		return p, 0, errors.New("--params with --preset, --model, --data, --label, --group or --schema, which make " +
			"parameters: the file has them")
	}
	if p, err = preset.Load(o.Params); err != nil {
		return p, 0, err
	}
	if _, err = p.Validate(o.Participants); err != nil {
		return p, 0, fmt.Errorf("%s: %w", o.Params, err)
	}
	fits, _ := p.Privacy.Fits(int(p.Privacy.Batch))
	return p, fits * o.Participants, nil
}

// config returns the limits and timeouts in the genesis and in a node's configuration, for a chain
// with these parameters, n participants and a number of validators.
func config(p params.Params, n, validators int) plan.Config {
	c, a := home.DefaultsFor(p, n, validators)
	return plan.Config{
		BlockBytes: p.BlockBytes(n), MostBytes: types.MaxBlockSizeBytes, TxBytes: int64(c.Mempool.MaxTxBytes),
		Wait: a.Proposal.Wait.Seconds(), Propose: c.Consensus.TimeoutPropose.Seconds(),
		Vote: min(c.Consensus.TimeoutPrevote, c.Consensus.TimeoutPrecommit),
	}
}

// own returns the data and the model that the flags name.
func (o *options) own() (own preset.Own, err error) {
	if err = o.Check(); err == nil {
		own, err = o.Own()
	}
	if err != nil {
		return own, err
	}
	own.Epsilon = o.Epsilon
	if own.Model != nil || own.Data != nil { // otherwise complete applies these flags to the finished preset
		own.Examples, own.Rounds = max(0, o.Samples), uint64(max(0, o.Rounds))
	}
	if d := own.Data; d != nil && d.Examples == 0 {
		if o.Samples == 0 {
			return own, errors.New("--schema without --data: give the examples of a participant with --examples")
		}
		d.Examples = o.Samples * o.Participants
	}
	return own, nil
}

// privacy applies the flags that exclude each other, over a preset's settings.
func (o *options) privacy(r *command.Run, preset params.Privacy) error {
	rate, batch := r.Given(&o.SamplingRate), r.Given(&o.Batch)
	epsilon, noise := r.Given(&o.Epsilon), r.Given(&o.NoiseMultiplier)
	switch {
	case rate && batch:
		return errors.New("--sampling-rate and --batch: one of them")
	case epsilon && noise:
		return errors.New("--epsilon and --noise-multiplier: one of them")
	case !epsilon && !noise && !r.Given(&o.Preset) && o.Params+o.Data+o.Schema == "":
		return errors.New("--epsilon, --noise-multiplier, --params, --preset or --data is needed")
	}
	switch fixed := preset.SamplingRate == 0; {
	case rate:
		o.Batch = 0
	case batch && !fixed:
		o.SamplingRate = 0
	}
	if !epsilon && !noise {
		o.NoiseMultiplier = preset.NoiseMultiplier
	}
	return nil
}
