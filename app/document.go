package app

import (
	"cmp"
	"fmt"
	"math/bits"
)

// Encode returns the encoded state without its height, because the height changes with every block.
func (s *State) Encode() []byte { return s.encode(s.Model) }

// EncodeRest returns the encoded state without its height and its model, because the store keeps
// the model in a separate entry.
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

// check rejects a document whose lengths or parameters no valid state has, because such a document
// could cause a panic later. A document may come from a malicious node.
func (d *Document) check() error {
	want, peaks := d.Params.Model.Dim(), bits.OnesCount64(d.Closed)
	velocity := len(firstVelocity(d.Params, d.Model))
	switch {
	case len(d.Model) != want:
		return fmt.Errorf("model has %d parameters, want %d", len(d.Model), want)
	case len(d.Velocity) != velocity:
		return fmt.Errorf("velocity has %d parameters, want %d", len(d.Velocity), velocity)
	case len(d.History) != peaks:
		return fmt.Errorf("history of %d rounds has %d peaks, want %d", d.Closed, len(d.History), peaks)
	}
	return cmp.Or(d.Params.Election.Validate(), d.Params.Privacy.ValidateLedger())
}

// DecodeState decodes a state that Encode wrote, at the given height. It fails if the document is
// not that of a valid state.
func DecodeState(height uint64, data []byte) (*State, error) { return decodeState(height, data, nil) }

// DecodeRest decodes a state that EncodeRest wrote, with the given height and model.
func DecodeRest(height uint64, data []byte, model []float64) (*State, error) {
	return decodeState(height, data, model)
}

// decodeState decodes a document. If model is not nil, the document was encoded without its model,
// and model takes its place.
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
	for i, c := range s.Progress.Commitments {
		if i > 0 && c.Participant <= s.Progress.Commitments[i-1].Participant ||
			int64(c.Participant) >= int64(len(s.Participants)) {
			return nil, fmt.Errorf("stored state: commitment %d is participant %d's, of %d participants, in increasing order", i,
				c.Participant, len(s.Participants))
		}
	}
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	return s, s.finalize()
}

type marshaler interface{ Marshal() ([]byte, error) }

// mustMarshal encodes a generated message of this package, of params or of tx. The encoding cannot
// fail: these messages have neither pointers that may be nil nor required fields.
func mustMarshal(m marshaler) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}
