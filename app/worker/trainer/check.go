package trainer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/app/params"
)

// Finding is the result of the check of one demand on a trainer.
type Finding struct {
	Demand string `json:"demand"`
	Met    bool   `json:"met"`
	// Note says what the check observed and, if the demand is not met, what that means.
	Note string `json:"note"`
}

// Report is the result of Inspect.
type Report struct {
	Findings []Finding `json:"findings"`
	Protocol int       `json:"protocol"`
	Examples int       `json:"examples"` // the number of the trainer's examples, or of its groups
	Batch    int       `json:"batch"`    // the number of examples or groups in the check's batch
	// GroupsIgnored is true if the trainer has groups and the unit of privacy is an example.
	GroupsIgnored bool    `json:"groups_ignored"`
	StepMS        float64 `json:"step_ms"` // the time of the sum over the check's batch, in ms
	// Tensors compares the tensors of the trainer's model with the tensors of the parameters. It is
	// empty if the trainer does not name its tensors.
	Tensors []Pair `json:"tensors,omitempty"`
	// Refuted is true if a demand is not met. If Refuted is false, nothing is proven, because the
	// check covers only a few batches.
	Refuted bool `json:"refuted"`
	// Failure is the reason why demands were not checked: a StartError, a TensorError, another error in the answer to
	// HELLO, or ErrLate.
	Failure error `json:"-"`
}

// Pair holds the shapes of a tensor in the trainer's model and in the parameters. A shape is null
// where the tensor is missing.
type Pair struct {
	Name   string   `json:"name"`
	Model  []uint32 `json:"model"`
	Params []uint32 `json:"params"`
}

// tensorPairs pairs the tensors of the chain's parameters with the model's tensors of the same name. Tensors that occur
// only in the model come last. It returns nil if the model has no named tensors.
func tensorPairs(model []Tensor, chain []params.Tensor) (all []Pair) {
	if len(model) == 0 {
		return nil
	}
	at := map[string]int{}
	for i, t := range chain {
		at[t.Name] = i
		all = append(all, Pair{Name: t.Name, Params: t.Shape})
	}
	for _, t := range model {
		if i, there := at[t.Name]; there {
			all[i].Model = t.Shape
		} else {
			all = append(all, Pair{Name: t.Name, Model: t.Shape})
		}
	}
	return all
}

// unstartedReport returns the report on a trainer that did not answer HELLO correctly.
func unstartedReport(err error, m params.Model) Report {
	r := Report{Refuted: true, Failure: err, Findings: []Finding{{"it starts and answers HELLO", false, err.Error()}}}
	var other *TensorError
	if errors.As(err, &other) {
		r.Findings = []Finding{{"its tensors are those of the parameters", false, other.Error()}}
		r.Tensors = tensorPairs(other.Model, m.Tensors)
	}
	return r
}

// tolerance is the max distance of two vectors, relative to a norm, at which the check treats them
// as equal. The rounding of float32 can cause such a distance.
const (
	tolerance  = 1e-3
	maxChecked = 8 // the max number of examples that are checked one by one
	numCopies  = 5 // the number of copies of one example in each group that equalRows sends
	// answerPause is the time after an answer in which the check waits for a second answer, which is a fault.
	answerPause = 500 * time.Millisecond
)

// inspection is a check in progress.
type inspection struct {
	t      *Trainer
	config Config
	// x holds the parameters at which the trainer computes gradients, and batch the indices of the
	// examples or groups that the check asks for.
	x       []float64
	batch   []int
	singles [][]float64 // what alone returns
	random  *rand.Rand
	report  Report
}

// Inspect starts a trainer, sends it requests that reveal a breach of the guarantee, and returns a
// report on its answers. After the first late answer it makes no further checks. It fails only if
// the configuration is not valid or ctx ends; the trainer's faults are in the report.
func Inspect(ctx context.Context, c Config, m params.Model, p params.Privacy, batch int, seed uint64) (Report, error) {
	if err := c.Check(); err != nil {
		return Report{}, err
	}
	c.Pause = time.Nanosecond // after a failure the trainer restarts at once
	t, err := Start(ctx, c, m, p)
	if err != nil && ctx.Err() == nil {
		return unstartedReport(err, m), nil
	} else if err != nil { // the program was stopped, and did not fail
		return Report{}, ctx.Err()
	}
	defer t.Close()
	i := &inspection{t: t, config: c, random: rand.New(rand.NewPCG(seed, 0))}
	i.x = make([]float64, m.Dim())
	for j := range i.x {
		i.x[j] = 0.1 * i.random.NormFloat64()
	}
	i.batch = pick(i.random, t.Len(), min(max(batch, 2), t.Len()))
	i.report.Protocol, i.report.Examples, i.report.Batch = t.answer.Protocol, t.Len(), len(i.batch)
	i.report.GroupsIgnored = t.IgnoresGroups()
	i.report.Tensors = tensorPairs(t.answer.Tensors, m.Tensors)
	i.note("it starts and answers HELLO", nil, fmt.Sprintf("protocol %d, %d examples%s", t.answer.Protocol,
		t.answer.Examples, t.inGroups()))
	if n := len(i.report.Tensors); n > 0 {
		i.note("its tensors are those of the parameters", nil, fmt.Sprintf("%d of the same names and shapes", n))
	}
	for _, look := range i.demands() {
		t.config.Log("checking: " + look.demand)
		note, err := look.check(ctx)
		if ctx.Err() != nil {
			return i.report, ctx.Err()
		}
		i.note(look.demand, err, note)
		if errors.Is(err, ErrLate) { // the other demands would wait as long, each of them
			i.report.Failure = err
			break
		}
	}
	return i.report, nil
}

// demand is one demand on a trainer, and the function that checks it.
type demand struct {
	demand string
	check  func(context.Context) (string, error)
}

// demands returns the demands that the check makes on the trainer, in the order of the report. The
// texts name the unit of privacy.
func (i *inspection) demands() []demand {
	all := []demand{
		{"a batch is answered in time", i.checkTime}, // the first, because it says how long the others take
		{"an empty batch gives 0", i.empty},
		{"the same question gets the same answer", i.checkRepetition},
		{"the order of the batch does not matter", i.checkOrder},
		{"an example alone is within the clip norm", i.checkSingles},
		{"without one example the sum changes by that example's gradient", i.checkRemoval},
		{"examples differ in their gradients", i.checkDistinct},
		{"EVALUATE", i.evaluated},
		{"it answers each question once", i.checkOneAnswer},
	}
	if i.t.unit != params.UnitGroup {
		return all
	}
	groups := strings.NewReplacer("an example", "a group", "example", "group")
	for k := range all { // the demands are on groups, not on examples
		all[k].demand = groups.Replace(all[k].demand)
	}
	return append(all, demand{"a group is the mean of its examples, clipped once", i.compareLargestGroups},
		demand{"equal rows of a group count as one of them", i.equalRows})
}

// pick returns k of n indices. Its memory does not depend on n, because the trainer chooses n.
func pick(r *rand.Rand, n, k int) []int {
	var out []int
	for seen := map[int]bool{}; len(out) < k; {
		if at := r.IntN(n); !seen[at] {
			seen[at] = true
			out = append(out, at)
		}
	}
	return out
}

func (i *inspection) note(demand string, err error, note string) {
	if err != nil {
		i.report.Refuted = true
		note = err.Error()
	}
	i.report.Findings = append(i.report.Findings, Finding{demand, err == nil, note})
}

// unclippedSum returns the trainer's sum of the gradients of the given examples or groups. If the trainer answers with
// one gradient per example, unclippedSum adds these gradients without clipping.
func (i *inspection) unclippedSum(ctx context.Context, units []int) ([]float64, error) {
	out := make([]float64, len(i.x))
	if i.t.model.Clipping == params.ClippingSum {
		return out, i.t.ClippedSum(ctx, out, i.x, units)
	}
	if i.t.unit == params.UnitGroup {
		units = slices.Concat(i.t.examplesOf(units)...)
	}
	err := i.t.withChild(ctx, func(ctx context.Context, k *child) error {
		return k.ask(ctx, frameGradient, gradientBody(i.x, units), func(r *reply) error {
			return i.t.eachRow(r, len(out), len(units), func(row []float64, _ float64) {
				for j, v := range row {
					out[j] += v
				}
			})
		})
	})
	return out, err
}

func (i *inspection) empty(ctx context.Context) (string, error) {
	s, err := i.unclippedSum(ctx, nil)
	if err == nil && norm(s) != 0 {
		err = fmt.Errorf("the sum of no %[2]s has norm %[1]g: something is added that is no %[2]s's", norm(s), i.unitNoun())
	}
	return "", err
}

func (i *inspection) checkTime(ctx context.Context) (string, error) {
	start := time.Now()
	_, err := i.unclippedSum(ctx, i.batch)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	i.report.StepMS = float64(took.Microseconds()) / 1000
	note := fmt.Sprintf("%d %ss took %.0f ms", len(i.batch), i.unitNoun(), i.report.StepMS)
	// compareSums asks for two batches, checkRemoval for one and for each that lacks an example, alone for each example.
	asks := 2*2 + 1 + 2*min(maxChecked, len(i.batch))
	if rest := took * time.Duration(asks); rest > 5*time.Second {
		i.t.config.Log(fmt.Sprintf("%s: the rest of the check takes up to about %v", note, rest.Round(time.Second)))
	}
	return note, nil
}

// compareSums compares the trainer's sum over the batch with its sum over other. The list other has the same examples,
// in the same order or in another order. The text meaning explains a difference to the operator.
func (i *inspection) compareSums(ctx context.Context, other []int, meaning string) (string, error) {
	a, err := i.unclippedSum(ctx, i.batch)
	if err != nil {
		return "", err
	}
	b, err := i.unclippedSum(ctx, other)
	if err == nil && !isNear(a, b, norm(a)) {
		err = fmt.Errorf("the sums differ by %.3g of their norm: %s", distance(a, b)/norm(a), meaning)
	}
	return "", err
}

func (i *inspection) checkRepetition(ctx context.Context) (string, error) {
	return i.compareSums(ctx, i.batch, "the trainer is random (dropout, augmentation), or keeps something from one step "+
		"to the next")
}

func (i *inspection) checkOrder(ctx context.Context) (string, error) {
	other := make([]int, len(i.batch))
	for k, at := range i.random.Perm(len(i.batch)) {
		other[at] = i.batch[k]
	}
	return i.compareSums(ctx, other, "an example's gradient depends on its place in the batch")
}

func (i *inspection) checkSingles(ctx context.Context) (string, error) {
	most, all, err := 0.0, [][]float64(nil), error(nil)
	if all, err = i.alone(ctx); err != nil {
		return "", err
	}
	for _, s := range all {
		most = max(most, norm(s))
	}
	if i.t.model.Clipping == params.ClippingSum {
		return fmt.Sprintf("the largest norm of %d is %.4g, clipped to %g", len(all), most, i.t.clip), nil
	}
	return fmt.Sprintf("SPDL clips to %g, the largest norm of %d before is %.4g", i.t.clip, len(all), most), nil
}

// alone returns the sum over each of the first maxChecked examples of the batch alone. It asks for each once.
func (i *inspection) alone(ctx context.Context) ([][]float64, error) {
	for _, k := range i.batch[len(i.singles):min(maxChecked, len(i.batch))] {
		s, err := i.unclippedSum(ctx, []int{k})
		if err != nil {
			return nil, err
		}
		i.singles = append(i.singles, s)
	}
	return i.singles, nil
}

// checkRemoval leaves out one example of the batch, and compares the change of the sum with the
// gradient of that example alone. The two differ if gradients depend on other examples, as with
// batch normalisation, or if the trainer's sum is not a sum.
func (i *inspection) checkRemoval(ctx context.Context) (string, error) {
	all, err := i.alone(ctx)
	if err != nil {
		return "", err
	}
	whole, err := i.unclippedSum(ctx, i.batch)
	if err != nil {
		return "", err
	}
	worst := 0.0
	for at, one := range all {
		rest, err := i.unclippedSum(ctx, append(append([]int(nil), i.batch[:at]...), i.batch[at+1:]...))
		if err != nil {
			return "", err
		}
		change := floats.SubTo(rest, whole, rest)
		worst = max(worst, norm(change))
		if !isNear(change, one, max(norm(one), norm(whole))) {
			return "", fmt.Errorf("%s %d changes the sum of %d by norm %.4g, alone it has %.4g, and the two are %.4g "+
				"apart: its gradient depends on the others (batch normalisation, a mean over the batch)", i.unitNoun(), i.batch[at],
				len(i.batch), norm(change), norm(one), distance(change, one))
		}
	}
	return fmt.Sprintf("the largest change is %.4g", worst), nil
}

func (i *inspection) checkDistinct(ctx context.Context) (string, error) {
	all, err := i.alone(ctx)
	switch {
	case err != nil:
		return "", err
	case len(all) == 1:
		return "there is one alone", nil
	case slices.ContainsFunc(all, func(s []float64) bool { return !isNear(all[0], s, norm(all[0])) }):
		return "", nil
	}
	return "", fmt.Errorf("%d %ss have one and the same gradient: the trainer does not look at the indices", len(all),
		i.unitNoun())
}

func (i *inspection) evaluated(ctx context.Context) (string, error) {
	e, err := i.t.Evaluate(ctx, i.x)
	if errors.Is(err, ErrUnmeasured) {
		return "not offered: the accuracy is shown as not measured", nil
	}
	return fmt.Sprintf("accuracy %.4f on %d examples at random parameters", e.Accuracy, e.Examples), err
}

// checkOneAnswer checks that the trainer sends no second answer to the last question.
func (i *inspection) checkOneAnswer(ctx context.Context) (string, error) {
	err := i.t.withChild(ctx, func(_ context.Context, k *child) error { return k.checkSilent(answerPause) })
	if err == nil && i.t.answer.Protocol < protocolSecond {
		return "protocol 1: a late answer would be taken for that to the next question", nil
	}
	return "", err
}

// unitNoun returns the noun for the unit of privacy.
func (i *inspection) unitNoun() string {
	return strings.TrimSuffix(params.Privacy{Unit: i.t.unit}.Units(), "s")
}

// isNear reports whether the distance of two vectors is at most tolerance times the norm scale.
func isNear(a, b []float64, scale float64) bool { return distance(a, b) <= tolerance*scale }

func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) }

func norm(a []float64) float64 { return floats.Norm(a, 2) }
