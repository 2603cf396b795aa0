package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/privacy/accountant"
)

// ErrInput is wrapped by the errors of [Make], except those of the accountant, which wrap accountant.ErrParameter.
var ErrInput = errors.New("plan: bad input")

// Input describes the training to plan. All participants have the same number of examples and the same mechanism.
type Input struct {
	Participants int // N, the number of participants
	Byzantine    int // f, the number of Byzantine participants
	Rule         string
	Model        model.Spec
	External     int             // the number of parameters of an external model, which has no Spec; 0 for other models
	Width        gradients.Width // the bytes of a coordinate on the grid
	NoiseFloor   bool            // validators reject vectors without noise
	RoundTime    time.Duration   // the time of one round; 0 means that Make estimates the time from Link
	Link         Link
	Config       Config

	Units        string  // the noun for what Samples counts: "examples" or "groups"; empty means examples
	Unit         string  // the unit of privacy, as params.Params.UnitName names it
	Rate         float64 // typical rate of the second class of a table; 0 for other data
	Neighbours   string  // a sentence that says which pairs of data sets are neighbours
	Samples      int     // the number of examples, or of groups, of one participant
	Sites        []int   // those of each, where they differ; Samples is then the mean
	SamplingRate float64 // q, the share of the samples in a batch; 0 means Batch/Samples
	// Batch is B, the expected batch size; 0 means q*Samples. Exactly one of q and B is set. The
	// exception is a batch of fixed size: q is 1, and B is the size.
	Batch int
	// Fits is the number of samples for which the preset's batch size is meant. It is 0 if Samples
	// is within a factor of two of that number.
	Fits     int
	Clip     float64 // C, the clip norm of one sample's gradient
	Momentum float64 // beta, the workers' momentum; at 1 vectors are sums
	Rounds   int     // T, the number of rounds
	Full     int     // those that the preset takes at least for a table and its noise; 0 for other data

	Accountant      accountant.Method // empty means the one that comes closest to the chain's ledger
	Epsilon         float64           // the target epsilon; exactly one of Epsilon and NoiseMultiplier is above 0
	NoiseMultiplier float64           // z, the noise's std divided by Clip; 0 if Epsilon is given
	Delta           float64
	LearningRate    float64 // gamma, for Lemma 1 only; 0 means the prototype's 0.01, because the paper states none
}

// Take sets the input from parameters and a number of examples of all participants.
func (in *Input) Take(p params.Params, examples int) {
	in.Byzantine, in.Rule, in.Rounds = int(p.Rule.Byzantine), p.Rule.Name, int(p.Training.Rounds)
	in.Width, in.Samples = gradients.Width(p.Grid.Width), max(1, examples/in.Participants)
	in.NoiseFloor, in.Clip, in.Momentum = p.Privacy.NoiseFloor, p.Privacy.Clip, p.Privacy.WorkerMomentum
	if p.Privacy.Lemma1Epsilon != 0 { // the plan then shows the lemma's claim beside the true epsilon
		in.Accountant = Lemma1
	}
	if in.Model = model.SpecOf(p.Model); p.Model.Kind == params.ModelExternal {
		in.Model, in.External = model.Spec{}, p.Model.Dim()
	}
	in.SamplingRate, in.Units = p.Privacy.SamplingRate, p.Privacy.Units()
	in.Unit, in.Neighbours = p.UnitName(), p.Privacy.Neighbours()
	if p.Model.Kind == params.ModelLogistic {
		in.Rate, in.Full = p.Model.Table.TypicalRate(), preset.FullRounds(p, in.Participants)
	}
	if in.SamplingRate == 0 { // batches of fixed size count as the whole data set
		in.SamplingRate, in.Batch = 1, int(p.Privacy.Batch)
	}
}

// Doubts returns the verdict of a plan of n participants who have the rows that the parameters are made for, if it is
// that the training is not worth it, or why there is no plan; otherwise nothing.
func Doubts(p params.Params, n int) []string {
	if p.Privacy.Mechanism != params.MechanismGaussian {
		return nil
	}
	in := Input{Participants: n, RoundTime: 1, NoiseMultiplier: p.Privacy.NoiseMultiplier, Delta: p.Privacy.Delta}
	samples, _ := p.Privacy.Fits(int(p.Privacy.Batch))
	in.Take(p, samples*n)
	made, err := Make(in)
	switch {
	case err != nil:
		return []string{"spdl plan has no verdict: " + err.Error()}
	case strings.HasPrefix(made.Verdict, notWorth):
		return []string{"spdl plan: " + made.Verdict}
	}
	return nil
}

// units returns the noun for what Samples counts.
func (in Input) units() string { return cmp.Or(in.Units, "examples") }

// fillIn checks an input, sets the fields that follow from other fields, and returns the rule.
func (in Input) fillIn() (Input, rules.Rule, error) {
	if err := in.check(); err != nil {
		return in, nil, err
	}
	rule, err := in.rule()
	if err != nil {
		return in, nil, err
	}
	in.SamplingRate = cmp.Or(in.SamplingRate, float64(in.Batch)/float64(in.Samples))
	if err := check(in.SamplingRate > 0 && in.SamplingRate <= 1,
		"sampling rate %v, want above 0 and at most 1", in.SamplingRate); err != nil {
		return in, nil, err
	}
	in.Batch = cmp.Or(in.Batch, max(1, int(math.Round(in.SamplingRate*float64(in.Samples)))))
	if in.Accountant = cmp.Or(in.Accountant, in.nearest()); in.Accountant == GDP {
		in.Accountant = accountant.Analytic
	}
	in.LearningRate = cmp.Or(in.LearningRate, prototypeLearningRate)
	in.Link.Nodes = min(cmp.Or(in.Link.Nodes, in.Participants), in.Participants)
	in.Link.Peers = min(cmp.Or(in.Link.Peers, usualPeers), in.Link.Nodes-1)
	return in, rule, nil
}

// check returns the first error in the fields other than the rule.
func (in Input) check() error {
	n, f := in.Participants, in.Byzantine
	var err error
	if in.External == 0 {
		err = in.Model.Validate()
	}
	return cmp.Or(
		check(n >= 1 && n <= gradients.MaxParticipants, "%d participants, want 1 to %d", n, gradients.MaxParticipants),
		check(f >= 0 && n >= 3*f+1, "%d Byzantine of %d participants, want 0 to %d (N >= 3f+1)", f, n, (n-1)/3),
		check(in.Samples >= 1, "%d %s a participant, want at least 1", in.Samples, in.units()),
		check((in.SamplingRate == 0) != (in.Batch == 0) || in.SamplingRate == 1,
			"sampling rate %v and batch %d, want one of them", in.SamplingRate, in.Batch),
		check(in.Batch >= 0 && in.Batch <= in.Samples, "batch %d, want 1 to the %d %s", in.Batch, in.Samples, in.units()),
		check(in.Clip > 0 && !math.IsInf(in.Clip, 1), "clip norm %v, want a positive finite number", in.Clip),
		check(in.Momentum >= 0 && in.Momentum <= 1, "worker momentum %v, want within [0, 1]", in.Momentum),
		check(in.Rounds >= 1, "%d rounds, want at least 1", in.Rounds),
		check(in.RoundTime > 0 || in.RoundTime == 0 && in.Link.Rate > 0, "round time %v, want it positive", in.RoundTime),
		in.Link.check(),
		check(in.Width.Valid(), "coordinates of %d bytes, want 1 or 2", in.Width),
		check((in.Epsilon == 0) != (in.NoiseMultiplier == 0),
			"target epsilon %v and noise multiplier %v, want one of them", in.Epsilon, in.NoiseMultiplier),
		check(in.LearningRate >= 0 && !math.IsInf(in.LearningRate, 1),
			"learning rate %v of Lemma 1, want a positive finite number", in.LearningRate),
		check(in.External >= 0 && in.External <= model.MaxDim, "%d parameters of an external model, want 1 to %d",
			in.External, model.MaxDim),
		check(err == nil, "%w", err),
	)
}

// rule returns the rule that the input names. It fails if the rule cannot aggregate N-f gradients,
// the min number with which a round closes.
func (in Input) rule() (rules.Rule, error) {
	rule, err := rules.Lookup(in.Rule)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	err = rule.Feasible(in.Participants, in.Byzantine, in.Participants-in.Byzantine)
	return rule, check(err == nil, "rule %s cannot aggregate N-f gradients of N = %d participants with f = %d: %w",
		in.Rule, in.Participants, in.Byzantine, err)
}

// check returns nil if ok is true. If not, it returns the formatted error, which wraps ErrInput.
func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%w: "+format, append([]any{ErrInput}, args...)...)
}
