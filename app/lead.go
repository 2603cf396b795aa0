package app

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// DraftAggregate drafts the aggregate with which the participant may close the open round at the
// given height, in the lowest view in which the participant may lead. The caller has already passed
// the pending gradients to Admit. DraftAggregate fails with
//
//   - ErrNotLeader while the participant may not lead;
//   - ErrNotClosing while gradients are missing;
//   - ErrFinished when training is finished;
//   - ErrVersion if the next block needs another version of the state machine: under the rules of
//     that version the draft might be invalid, and the leader would waste its view.
func (s *State) DraftAggregate(height uint64, participant uint32, pending []*tx.Tx) (*tx.Aggregate, error) {
	a, included, err := s.DraftIncluded(height, participant, pending)
	if err != nil {
		return nil, err
	}
	if err := s.SetDelta(a, included); err != nil {
		return nil, err
	}
	return a, nil
}

// DraftIncluded drafts like DraftAggregate, but does not run the rule. It returns the draft without
// its Delta, and the gradients that the draft lists.
func (s *State) DraftIncluded(height uint64, participant uint32, pending []*tx.Tx) (*tx.Aggregate, []*tx.Tx, error) {
	if s.Finished() {
		return nil, nil, ErrFinished
	}
	if err := s.Executable(); err != nil {
		return nil, nil, err
	}
	view, err := s.viewOf(participant, height)
	if err != nil {
		return nil, nil, err
	}
	if s.Committing() {
		return nil, nil, fmt.Errorf("%w: %d commitments, and nothing may be revealed yet", ErrNotClosing,
			len(s.Progress.Commitments))
	}
	included := s.ofOpenRound(pending)
	n, least := s.Active(), s.Active()-s.F()
	if len(included) < least {
		return nil, nil, fmt.Errorf("%w: %d of %d gradients, at least %d are needed", ErrNotClosing, len(included), n, least)
	}
	listed := entriesOf(included)
	if err := s.mayCloseWith(participantsOf(listed), height); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotClosing, err)
	}
	return &tx.Aggregate{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Leader: participant, View: view,
		Included: listed}, included, nil
}

// entriesOf returns an aggregate's list for the included gradients: the participant and the content
// hash of each gradient.
func entriesOf(included []*tx.Tx) []tx.Included {
	listed := make([]tx.Included, len(included))
	for i, t := range included {
		listed[i] = tx.Included{Participant: t.Gradient.Participant, Hash: t.Content[:]}
	}
	return listed
}

// Precompute runs the rule over all pending gradients of the open round and caches the result. Steps
// that later draft, propose or verify an aggregate of exactly these gradients reuse the result.
func (s *State) Precompute(pending []*tx.Tx) error {
	included := s.ofOpenRound(pending)
	if least := s.Active() - s.F(); len(included) < least {
		return fmt.Errorf("%w: %d gradients, at least %d are needed", ErrNotClosing, len(included), least)
	}
	return s.SetDelta(&tx.Aggregate{Included: entriesOf(included)}, included)
}

// SetDelta runs the rule over the gradients in included and sets the aggregate's Delta, or at tolerance 0 the digest of
// Delta. included holds the gradients of the aggregate's list, in the same order.
func (s *State) SetDelta(a *tx.Aggregate, included []*tx.Tx) (err error) {
	vectors := make([]gradients.Vector, len(included))
	for i, t := range included {
		if vectors[i], err = t.Vector(s.Grid().Width, len(s.Model)); err != nil {
			return fmt.Errorf("%w: %w", ErrPayload, err)
		}
	}
	out, err := s.aggregate(a.Included, vectors)
	if err != nil {
		return err
	}
	if s.Params.Rule.Tolerance > 0 {
		a.Delta = out.Delta.Encode()
	} else {
		digest := out.Delta.Digest()
		a.Digest = digest[:]
	}
	return nil
}

// CheckDraft checks an aggregate that another program made, before a leader signs it. It returns an error if
//
//   - the aggregate's round is not open, or its signer may not lead in its view;
//   - a listed gradient is missing from gradientTxs, or Admit rejects it;
//   - the rule computes another Delta from the listed gradients.
//
// CheckDraft does not check whether the view is open, which depends on the height of the block.
func (s *State) CheckDraft(a *tx.Aggregate, gradientTxs []*tx.Tx) error {
	if !s.isOpen(a.Epoch, a.Round) || s.Finished() {
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d", ErrAggregateRound, a.Epoch, a.Round,
			s.Progress.Epoch, s.Progress.Round)
	}
	if err := s.checkContent(a); err != nil {
		return err
	}
	at := make(map[string]*tx.Tx, len(gradientTxs))
	for _, t := range gradientTxs {
		at[string(t.Content[:])] = t
	}
	included := make([]*tx.Tx, len(a.Included))
	for i, in := range a.Included {
		t := at[string(in.Hash)]
		if t == nil || !sameGradient(in, t) {
			return fmt.Errorf("%w: the gradient %X of participant %d is not there", ErrMismatch, in.Hash[:8], in.Participant)
		}
		included[i] = t
	}
	s.verifyAll(included)
	for _, t := range included {
		if err := s.Admit(t); err != nil {
			return err
		}
	}
	own := &tx.Aggregate{Epoch: a.Epoch, Round: a.Round, Leader: a.Leader, View: a.View, Included: a.Included}
	if err := s.SetDelta(own, included); err != nil {
		return err
	}
	if !bytes.Equal(mustMarshal(own), mustMarshal(a)) {
		return fmt.Errorf("%w: the draft is %X, recomputed from its gradients %X", ErrTolerance, a.Header().ContentHash,
			own.Header().ContentHash)
	}
	return nil
}

// ofOpenRound returns the pending gradients of the open round in participant order. Of each active
// participant it returns only the first gradient.
func (s *State) ofOpenRound(pending []*tx.Tx) []*tx.Tx {
	slots := make([]*tx.Tx, len(s.Participants))
	for _, t := range pending {
		g := t.Gradient
		if g != nil && s.isOpen(g.Epoch, g.Round) && s.participant(g.Participant) != nil && slots[g.Participant] == nil {
			slots[g.Participant] = t
		}
	}
	return slices.DeleteFunc(slots, func(t *tx.Tx) bool { return t == nil })
}

// aggregate runs the epoch's rule, or returns its cached result for the same list of gradients. With rule.zeros, as in
// the paper, a participant without a gradient counts as the zero vector. Without rule.zeros such a participant has
// infinite distance to every gradient, and still counts in N.
func (s *State) aggregate(included []tx.Included, vectors []gradients.Vector) (rules.Output, error) {
	return s.aggregated.get(included, func() (rules.Output, error) { return s.rule.Aggregate(s.input(included, vectors)) })
}

// input returns the input of the epoch's rule.
func (s *State) input(included []tx.Included, vectors []gradients.Vector) rules.Input {
	floor := s.distanceFloor(included)
	if s.Params.Rule.Zeros {
		vectors = s.withZeros(included, vectors)
	}
	return rules.Input{N: s.Active(), F: s.F(), Vectors: vectors, Unsquared: s.Params.Rule.Unsquared, Floor: floor,
		Seed: s.Progress.Seed}
}

// withZeros returns one vector for each active participant: its included gradient, or zeros.
func (s *State) withZeros(included []tx.Included, vectors []gradients.Vector) []gradients.Vector {
	zero := gradients.NewVector(s.Grid().Width, len(s.Model))
	all := make([]gradients.Vector, 0, s.Active())
	next := 0
	for _, index := range s.inputs(included) {
		if next < len(included) && included[next].Participant == index {
			all = append(all, vectors[next])
			next++
		} else {
			all = append(all, zero)
		}
	}
	return all
}

// inputs returns, for each vector of the rule's input, the index of the participant that sent it.
func (s *State) inputs(included []tx.Included) []uint32 {
	if !s.Params.Rule.Zeros {
		return participantsOf(included)
	}
	var out []uint32
	for i := range s.Participants {
		if s.Participants[i].Active {
			out = append(out, s.Participants[i].Index)
		}
	}
	return out
}

// resultCache caches the last result of the rule over a state's gradients. A leader drafts, verifies and executes the
// same round, and the rule is most of the cost of each of these steps. The key of the cache is an aggregate's list of
// gradients. The list has the gradients' hashes, so it determines the result.
type resultCache struct {
	mu       sync.Mutex
	included []tx.Included // the gradients of the cached result; nil while the cache is empty
	result   rules.Output  // the cached result
}

// get returns the rule's result over the included gradients. If the result is not in the cache, get calls compute and
// caches its result. Concurrent callers wait for each other. A caller must not change the result.
func (a *resultCache) get(included []tx.Included, compute func() (rules.Output, error)) (rules.Output, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.included != nil && tx.SameIncluded(a.included, included) {
		return a.result, nil
	}
	out, err := compute()
	if err != nil {
		return out, err
	}
	out.Neighbours = nil // no caller reads the neighbours, and they would fill memory: up to n for each of n gradients
	a.included, a.result = included, out
	return out, nil
}
