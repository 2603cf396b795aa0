package app

import (
	"encoding/binary"
	"fmt"
)

// Tree returns the leaves of the state's Merkle tree, by increasing key. The values for the lists,
// the model, the velocity and the history are the roots of trees of their own. The leaf "closed"
// holds the number of records in the history, which the root of the history does not determine.
// Together, root and number determine the peaks of the frontier.
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

// List returns the elements of one of the state's lists by its key, and whether there is such a list.
// The state's tree holds the root of the list under the same key.
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

// Pair returns the record's leaf in the tree of the history. The key is "epoch/round" in decimal digits.
func (r *Record) Pair() Pair {
	return Pair{fmt.Sprintf("%d/%d", r.Epoch, r.Round), mustMarshal(r)}
}

// encodeList encodes each message separately, as a leaf of a list's tree.
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
