package app

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// State is the whole state of the chain after a height. It is never changed
// after it is returned, so any number of goroutines may read it.
//
// Document is its stored form and a type of its own: a document is bytes of any origin that are yet
// to be checked, while a state also holds its height and what follows from the rest, and must not
// have a message's methods, which change it or encode it without either.
type State struct {
	ChainID      string
	Height       uint64
	Params       params.Params
	Progress     Progress
	Participants []Participant // by index
	Model        []float64
	Velocity     []float64  // nil while momentum is 0
	Proposals    []Proposal // those that wait, in the order in which they came
	Offences     []Offence  // in the order in which they were proven
	Epochs       []Epoch    // those that have ended

	version  uint64 // of the state machine that executes what follows; Version but in tests
	awaited  []bool // by index: whom the open round waits for
	finished bool   // no round can close any more
	history  frontier
	rule     rules.Rule
	model    [32]byte // Merkle root of Model
	velocity [32]byte
	hash     [32]byte

	aggregated *aggregated // shared with what differs in the height alone
}

// NewState returns the state before the first block, which has height initial.
// BlockBytes is CometBFT's block.max_bytes, -1 for its own bound.
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
	if g.Params.Training.Momentum != 0 {
		s.Velocity = make([]float64, len(s.Model))
	}
	s.elect(contenders)
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	return s, s.seal()
}

// seal completes a state whose fields and roots are set: the rule and the hash.
func (s *State) seal() (err error) {
	if s.rule, err = rules.Lookup(s.Params.Rule.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrGenesis, err)
	}
	s.aggregated = new(aggregated)
	s.finished = s.over()
	s.awaited = make([]bool, len(s.Participants))
	for i := range s.Participants {
		s.awaited[i] = s.awaits(&s.Participants[i])
	}
	s.hash = Root(s.Tree())
	return nil
}

// Grid returns the grid of the epoch's gradients.
func (s *State) Grid() gradients.Grid {
	return s.Params.Grid.Lattice()
}

// Finished reports whether the epoch's training is over: all rounds are closed, or
// too few participants have privacy budget left to close another.
func (s *State) Finished() bool { return s.finished }

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

// F returns the number of Byzantine participants that the rule withstands now:
// rule.byzantine, or less where so few are left that N >= 3f+1 would not hold.
func (s *State) F() int { return max(0, min(int(s.Params.Rule.Byzantine), (s.Active()-1)/3)) }

// participant returns an active participant by index, or nil.
func (s *State) participant(index uint32) *Participant {
	if uint64(index) >= uint64(len(s.Participants)) || !s.Participants[index].Active {
		return nil
	}
	return &s.Participants[index]
}

// Find returns the active participant with the ed25519 public key.
func (s *State) Find(pub []byte) (Participant, bool) {
	for _, p := range s.Participants {
		if p.Active && string(p.PubKey) == string(pub) {
			return p, true
		}
	}
	return Participant{}, false
}

// Hash returns the application hash: the root of Tree. The height is no part of it,
// so an empty block leaves it as it is.
func (s *State) Hash() [32]byte { return s.hash }

// Tree returns the leaves of the state's tree, by increasing key. The value of a list,
// of the model, of the velocity and of the history is the root of a tree of its own.
// The root of the history does not commit to the number of its records, which
// therefore is a leaf; together they determine the peaks of the frontier.
func (s *State) Tree() []Pair {
	history := s.history.root()
	return []Pair{
		{"chain_id", []byte(s.ChainID)},
		{"closed", binary.BigEndian.AppendUint64(nil, s.history.size)},
		{"epochs", listRoot(encodeList(s.Epochs))},
		{"history", history[:]},
		{"model", s.model[:]},
		{"offences", listRoot(encodeList(s.Offences))},
		{"params", mustMarshal(&s.Params)},
		{"participants", listRoot(encodeList(s.Participants))},
		{"progress", mustMarshal(&s.Progress)},
		{"proposals", listRoot(encodeList(s.Proposals))},
		{"velocity", s.velocity[:]},
	}
}

func listRoot(elements [][]byte) []byte {
	root := Root(Indexed(elements))
	return root[:]
}

// List returns the elements of the list whose root is under a key of the state's
// tree, and whether there is such a list.
func (s *State) List(key string) (elements [][]byte, ok bool) {
	switch key {
	case "epochs":
		return encodeList(s.Epochs), true
	case "model":
		return Chunks(EncodeParameters(s.Model)), true
	case "offences":
		return encodeList(s.Offences), true
	case "participants":
		return encodeList(s.Participants), true
	case "proposals":
		return encodeList(s.Proposals), true
	case "velocity":
		return Chunks(EncodeParameters(s.Velocity)), true
	}
	return nil, false
}

// Closed returns the number of closed rounds, in all epochs.
func (s *State) Closed() uint64 { return s.history.size }

// Pair returns the record's leaf in the tree of the history: under its epoch and round.
func (r *Record) Pair() Pair {
	return Pair{fmt.Sprintf("%d/%d", r.Epoch, r.Round), mustMarshal(r)}
}

// encodeList encodes messages, each by itself: the leaves of a list's tree.
func encodeList[M any, P interface {
	*M
	marshaler
}](list []M) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = mustMarshal(P(&list[i]))
	}
	return out
}

type marshaler interface{ Marshal() ([]byte, error) }

// mustMarshal encodes a message of ours; without pointers or required fields
// that cannot fail.
func mustMarshal(m marshaler) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// Encode returns the bytes of everything but the height, which changes with
// every block while the rest does not.
func (s *State) Encode() []byte { return s.encode(s.Model) }

// EncodeRest returns the bytes of Encode without the model, which is kept beside them.
func (s *State) EncodeRest() []byte { return s.encode(nil) }

func (s *State) encode(model []float64) []byte {
	d := Document{
		ChainId: s.ChainID, Params: s.Params, Progress: s.Progress, Participants: s.Participants,
		Model: model, Velocity: s.Velocity, Closed: s.history.size,
		Proposals: s.Proposals, Offences: s.Offences, Epochs: s.Epochs,
	}
	for i := range s.history.peaks {
		d.History = append(d.History, s.history.peaks[i][:])
	}
	return mustMarshal(&d)
}

// check refuses a document that no state of ours has, and one that would cause a panic:
// it may come from a peer or from a node that lies.
func (d *Document) check() error {
	want, velocity, peaks := d.Params.Model.Dim(), 0, bits.OnesCount64(d.Closed)
	if d.Params.Training.Momentum != 0 {
		velocity = want
	}
	switch {
	case len(d.Model) != want:
		return fmt.Errorf("model has %d parameters, want %d", len(d.Model), want)
	case len(d.Velocity) != velocity:
		return fmt.Errorf("velocity has %d parameters, want %d", len(d.Velocity), velocity)
	case len(d.History) != peaks:
		return fmt.Errorf("history of %d rounds has %d peaks, want %d", d.Closed, len(d.History), peaks)
	}
	return firstOf(d.Params.Election.Validate(), d.Params.Privacy.ValidateLedger())
}

// DecodeState is the inverse of Encode, at a height.
func DecodeState(height uint64, data []byte) (*State, error) { return decodeState(height, data, nil) }

// DecodeRest is the inverse of EncodeRest, at a height, with the model.
func DecodeRest(height uint64, data []byte, model []float64) (*State, error) {
	return decodeState(height, data, model)
}

// decodeState decodes a document that holds its model, or has the given one beside it.
func decodeState(height uint64, data []byte, model []float64) (*State, error) {
	if err := leastDocument.Check(data); err != nil {
		return nil, fmt.Errorf("stored state: %w", err)
	}
	var d Document
	if err := d.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("stored state: %w", err)
	}
	d.Model = append(d.Model, model...)
	s := &State{
		ChainID: d.ChainId, Height: height, Params: d.Params, Progress: d.Progress, Participants: d.Participants,
		Model: d.Model, Velocity: d.Velocity, history: frontier{size: d.Closed},
		Proposals: d.Proposals, Offences: d.Offences, Epochs: d.Epochs, version: Version,
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("stored state: %w", err)
	}
	for _, peak := range d.History {
		if len(peak) != 32 {
			return nil, fmt.Errorf("stored state: history peak of %d bytes, want 32", len(peak))
		}
		s.history.peaks = append(s.history.peaks, [32]byte(peak))
	}
	for i := range s.Proposals {
		if _, err := s.Proposals[i].decode(); err != nil {
			return nil, fmt.Errorf("stored state: proposal %d: %w", i, err)
		}
	}
	for i := range s.Participants {
		if int(s.Participants[i].Index) != i {
			return nil, fmt.Errorf("stored state: participant %d has index %d", i, s.Participants[i].Index)
		}
	}
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	return s, s.seal()
}
