package app

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// State is the whole state of the chain after a height. It is immutable once a function has
// returned it, so any number of goroutines may read it.
//
// Document is the stored form of a state. The types differ for two reasons. A Document may come from
// an untrusted source, unchecked, while a State is always valid. And a State has a height and
// derived fields, which the generated methods of a message would neither encode nor keep up to date.
type State struct {
	ChainID      string
	Height       uint64
	Params       params.Params
	Progress     Progress
	Participants []Participant // by the participant's index
	Model        []float64
	// Velocity is the momentum term of the model update; if gradients are sums, the model with which the epoch
	// began. It is as long as Model, and nil if training.momentum is 0 and gradients are not sums.
	Velocity  []float64
	Proposals []Proposal // the proposals that are not yet enacted, in the order of their arrival
	Offences  []Offence  // all proven offences of participants, in the order of their proofs
	Epochs    []Epoch    // the ended epochs

	version       uint64     // the version of the state machine that executes the next block; Version except in tests
	required      []bool     // by participant index: whether the open round waits for the participant
	requiredCount int        // the number of true elements of required
	isFinished    bool       // whether the running epoch can close no further round
	history       frontier   // the Merkle tree over the records of all closed rounds
	rule          rules.Rule // the aggregation rule of the running epoch
	model         [32]byte   // Merkle root of Model
	velocity      [32]byte   // Merkle root of Velocity
	hash          [32]byte   // the application hash

	aggregated *resultCache // caches the rule's result; a clone shares the cache until finalize replaces it
	discarded  []Discard    // the proposals that the block of this height has discarded so far
}

// NewState returns the state before the first block of a chain. initial is the height of that
// block. blockBytes is CometBFT's block.max_bytes; -1 means CometBFT's own limit.
func NewState(chainID string, initial uint64, blockBytes int64, g Genesis) (*State, error) {
	if _, err := g.Validate(); err != nil {
		return nil, err
	}
	contenders, err := g.Contenders(chainID)
	if err != nil {
		return nil, err
	}
	s := &State{
		ChainID:      chainID,
		Height:       initial - 1,
		Params:       g.Params,
		Participants: g.Participants,
		Model:        initialModel(g.Params.Model, g.Seed),
		Progress:     Progress{Opened: initial, Began: initial, Seed: g.Seed, BlockBytes: blockBytes},
		version:      Version,
	}
	s.Velocity = firstVelocity(s.Params, s.Model)
	s.elect(contenders)
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	return s, s.finalize()
}

// finalize computes the derived fields of a state, such as the rule and the hash. Before the call,
// all other fields must be set, including the Merkle roots of Model and Velocity.
func (s *State) finalize() (err error) {
	if s.rule, err = rules.Lookup(s.Params.Rule.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrGenesis, err)
	}
	s.aggregated = new(resultCache)
	s.isFinished = s.isOver()
	s.required, s.requiredCount = make([]bool, len(s.Participants)), 0
	for i := range s.Participants {
		if s.required[i] = s.isRequiredNow(&s.Participants[i]); s.required[i] {
			s.requiredCount++
		}
	}
	s.hash = Root(s.Tree())
	return nil
}

// Grid returns the grid of the epoch's gradients.
func (s *State) Grid() gradients.Grid {
	return s.Params.Grid.Lattice()
}

// Finished reports whether the epoch's training is over: all rounds are closed, or too few
// participants have privacy budget left to close another round.
func (s *State) Finished() bool { return s.isFinished }

// Active returns N, the number of active participants.
func (s *State) Active() int {
	n := 0
	for i := range s.Participants {
		if s.Participants[i].Active {
			n++
		}
	}
	return n
}

// Validators returns the number of validators, 0 for a nil state.
func (s *State) Validators() (n int) {
	if s == nil {
		return 0
	}
	for i := range s.Participants {
		if p := &s.Participants[i]; p.Active && len(p.ConsensusKey) > 0 {
			n++
		}
	}
	return n
}

// F returns f, the number of Byzantine participants that the rule withstands among the active ones.
func (s *State) F() int { return s.Params.Rule.F(s.Active()) }

// IsClosed reports whether the given round comes before the open round: the round is closed, or was
// never opened because its epoch ended.
func (s *State) IsClosed(epoch, round uint64) bool {
	return isEarlier(epoch, round, s.Progress.Epoch, s.Progress.Round)
}

// isOpen reports whether the given round of the given epoch is the open round.
func (s *State) isOpen(epoch, round uint64) bool {
	return epoch == s.Progress.Epoch && round == s.Progress.Round
}

// participant returns the participant with the given index, or nil if there is no such participant
// or if it is not active.
func (s *State) participant(index uint32) *Participant {
	if uint64(index) >= uint64(len(s.Participants)) || !s.Participants[index].Active {
		return nil
	}
	return &s.Participants[index]
}

// Find returns the active participant whose current signing key is pub, an ed25519 public key.
func (s *State) Find(pub []byte) (Participant, bool) {
	for _, p := range s.Participants {
		if p.Active && string(p.PubKey) == string(pub) {
			return p, true
		}
	}
	return Participant{}, false
}

// Hash returns the application hash, the root of Tree. Tree does not contain the height, so an
// empty block leaves the hash as it is.
func (s *State) Hash() [32]byte { return s.hash }

// Closed returns the number of closed rounds, in all epochs.
func (s *State) Closed() uint64 { return s.history.size }

// clone returns a copy for the caller to change, with the given height. It copies the slices whose elements change.
// Slices that only grow are shared; their capacity is cut to their length, so that append copies the elements.
func (s *State) clone(height uint64) *State {
	next := *s
	next.Height, next.discarded = height, nil
	next.Participants = append([]Participant(nil), s.Participants...)
	next.Proposals = append([]Proposal(nil), s.Proposals...)
	next.Offences = s.Offences[:len(s.Offences):len(s.Offences)]
	next.Epochs = s.Epochs[:len(s.Epochs):len(s.Epochs)]
	return &next
}
