// Package contribution estimates what each participant's gradients added to a trained model. It needs only the blocks
// and a test set on which the members agree. It processes what the chain already holds, so it costs no privacy.
//
// The package writes a round's Delta as a weighted sum of the gradients, as closely as possible. For a rule that
// selects m gradients and averages them, the weights are 1/m; for a rule that works by coordinates, they are found by
// least squares. The aggregate of a coalition is the part of that sum from its members. The value of a coalition is
// the improvement of the test loss over a round without gradients, in which only momentum and weight decay move the
// model. On that game the package computes leave-one-out values and Shapley values, round by round, and adds them up.
// ADR 28 says why it does not run the rule for every coalition.
//
// The loss, and all that leads to it, is computed with products that are rounded separately and sums in a fixed order,
// so that all CPUs give the same numbers from the same inputs of the model. All CPUs compute the same inputs from
// pixels, but not from the feature map strokes, whose float32 they round differently.
package contribution

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/mnist"
)

// Options are the choices of an estimate.
type Options struct {
	Test  mnist.Set
	Pairs int     // of permutations a round, at least 1
	Seed  uint64  // of the permutations
	Epoch *uint64 // the only measured epoch; nil means all
}

// ErrDiverged means that a model of the chain has no finite loss on the test set.
var ErrDiverged = errors.New("the model has no finite loss on the test set")

// Estimator adds up the values of a chain's rounds, in their order.
type Estimator struct {
	options Options
	model   params.Model // the model of which loss is the loss
	loss    *testLoss
	copies  copies
	tally
	begun *tally // if gradients are sums, the values of the epochs before epoch
	epoch uint64
}

// tally are the values of the rounds so far.
type tally struct {
	members []*member
	report  Report
}

// member is a participant's values by round.
type member struct {
	shapley, leaveOneOut, weights series
	copied                        int
	from                          map[uint32]int // rounds of gradients copied from each participant
}

// New returns an estimator without rounds.
func New(o Options) (*Estimator, error) {
	if o.Pairs < 1 {
		return nil, fmt.Errorf("%d pairs of permutations, want at least 1", o.Pairs)
	}
	return &Estimator{options: o}, nil
}

// Round adds the round that a block closed to the estimate. The parameter before is the state on
// which the block was executed.
func (e *Estimator) Round(before *app.State, round []*tx.Tx) error {
	if e.options.Epoch != nil && *e.options.Epoch != before.Progress.Epoch {
		return nil
	}
	applied, err := before.Applied(round)
	if err != nil {
		return err
	}
	if err := e.measures(before.Params.Model); err != nil {
		return fmt.Errorf("epoch %d: %w", before.Progress.Epoch, err)
	}
	at := fmt.Sprintf("epoch %d round %d", before.Progress.Epoch, before.Progress.Round)
	origins := e.copies.find(applied.Participants, applied.Vectors)
	w := weights(applied.Vectors, applied.Delta)
	g, whole := e.game(before.Params, applied, w, origins)
	coasted := e.loss.at(applied.Coasted)
	empty := coasted
	for _, o := range origins {
		if o.share > 0 {
			empty = g.at(nil)
			break
		}
	}
	leaveOneOut, full := g.leaveOneOut()
	after := e.loss.at(whole)
	if !finite(coasted) || !finite(full) || !finite(after) || !finite(empty) {
		return fmt.Errorf("%s: %w", at, ErrDiverged)
	}
	e.rewind(before)
	random := rand.New(rand.NewPCG(e.options.Seed, before.Closed()))
	shapley := g.shapley(e.options.Pairs, random, empty, full)
	r := &e.report
	r.Rounds++
	r.Improvement += coasted - after
	r.Copied += coasted - empty
	r.Rest += full - after
	for i, index := range applied.Participants {
		m := e.member(index)
		m.shapley = append(m.shapley, shapley[i])
		m.leaveOneOut = append(m.leaveOneOut, leaveOneOut[i])
		m.weights = append(m.weights, w[i])
		if origins[i].share > 0 {
			m.copied++
			m.from[origins[i].participant]++
		}
	}
	return nil
}

// rewind drops the values of the epoch's earlier rounds if gradients are sums: each round's game is then that
// of all gradients of the epoch so far.
func (e *Estimator) rewind(before *app.State) {
	if !before.Params.Privacy.Sums() {
		return
	}
	if e.begun == nil || e.epoch != before.Progress.Epoch {
		e.epoch, e.begun = before.Progress.Epoch, e.clone()
	}
	e.tally = *e.begun.clone()
}

// clone returns a copy that does not change with t.
func (t tally) clone() *tally {
	t.members = slices.Clone(t.members)
	for i, m := range t.members {
		c := *m // what is appended to a series lies behind the copy's end
		c.from = maps.Clone(c.from)
		t.members[i] = &c
	}
	return &t
}

// measures makes the loss of the chain's models, which may change with an epoch.
func (e *Estimator) measures(m params.Model) (err error) {
	if e.loss != nil && e.model.Equal(m) {
		return nil
	}
	if e.loss, err = newLoss(e.options.Test, m); err == nil {
		e.model = m
		e.report.TestHash, e.report.InputsHash = e.loss.testHash(), e.loss.inputsHash()
		e.report.TestExamples = e.options.Test.Len()
	}
	return err
}

// game returns the game of a round, and the model to which the whole Delta leads. Copied parts of
// gradients belong to no player; they are part of the base.
func (e *Estimator) game(p params.Params, a app.Applied, w []float64, origins []origin) (*game, []float64) {
	scale := -float64(p.Training.LearningRate * p.Grid.Step)
	d := len(a.Coasted)
	whole, base := make([]float64, d), make([]float64, d)
	copy(base, a.Coasted)
	den := float64(a.Delta.Den)
	for j := range whole {
		whole[j] = a.Coasted[j] + float64(scale*float64(float64(a.Delta.Num[j])/den))
	}
	g := &game{loss: e.loss, base: base, step: make([][]float64, len(a.Vectors))}
	for i, v := range a.Vectors {
		step, own := make([]float64, d), float64(scale*w[i])
		for j := range step {
			step[j] = float64(own * float64(v.At(j)))
		}
		if o := origins[i]; o.share > 0 {
			part := float64(own * o.share)
			for j := range step {
				moved := float64(part * float64(o.vector.At(j)))
				step[j] -= moved
				base[j] += moved
			}
		}
		g.step[i] = step
	}
	return g, whole
}

// member returns the values of a participant.
func (e *Estimator) member(index uint32) *member {
	for uint32(len(e.members)) <= index {
		e.members = append(e.members, &member{from: map[uint32]int{}})
	}
	return e.members[index]
}

// series are the values of a participant in the rounds that included it.
type series []float64

// Value is a sum over rounds with half the width of its 95 % interval, null for fewer than 2 rounds.
type Value struct {
	Sum  float64  `json:"sum"`
	Half *float64 `json:"half_width"`
}

// sum returns the sum, with an interval for the randomness of batches, noise and permutations, which differ from round
// to round. The variance of a round is half the mean square of its differences from the rounds before and after it,
// which a trend hardly changes. The first and the last round have one such difference, which counts twice.
func (s series) sum() Value {
	var out Value
	squares := 0.0
	for i, v := range s {
		out.Sum += v
		if i == 0 {
			continue
		}
		square := float64((v - s[i-1]) * (v - s[i-1]))
		if squares += square; i == 1 {
			squares += square
		}
		if i == len(s)-1 {
			squares += square
		}
	}
	if len(s) > 1 {
		half := 1.96 * math.Sqrt(squares/2)
		out.Half = &half
	}
	return out
}

func (s series) mean() float64 {
	if len(s) == 0 {
		return 0
	}
	return s.sum().Sum / float64(len(s))
}
