package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
)

// Bundle is the answer to /bundle/{t}: the proofs of the progress, the parameters, the epochs, the
// participants, and a round's record. The record has the hash of the round's model. All proofs are
// for the state of Height, whose application hash is in the header of the next height.
type Bundle struct {
	Height uint64 `json:"height"`
	proof.Bundle
}

// StateAfter is the answer to /kept/{t}: this node's last checkpoint at or before round t. From a
// checkpoint and the later blocks an auditor can compute the later models. StateAfter is also the
// answer to /kept, the current state with the open round.
type StateAfter struct {
	Epoch    uint64 `json:"epoch"`
	Round    uint64 `json:"round"`
	Height   uint64 `json:"height"`
	Document []byte `json:"document"` // the encoding by app.State.Encode
}

// proveRound proves the record of a closed round.
func (q *Queries) proveRound(s *app.State, epoch, t uint64) (proof.Proven, error) {
	r, err := q.record(s, epoch, t)
	if err != nil {
		return proof.Proven{}, err
	}
	if err := q.history.Grow(s.Closed(), q.Store.Records); err != nil {
		return proof.Proven{}, err
	}
	p, err := q.history.Round(s, r)
	return p, notFound(err)
}

// prove answers a query with Prove set. It returns the proven key, and the value with the proof.
func (q *Queries) prove(s *app.State, path string) (key string, p proof.Proven, err error) {
	name, arg, _ := strings.Cut(path, "/")
	switch {
	case name == "evidence" && arg == "":
		path = "offences"
	case name == "chunk" && strings.Contains(arg, "/"):
		return q.proveChunk(s, arg)
	case name == "round", name == "model" && arg != "":
		epoch, t, err := roundArgument(s, arg)
		if err != nil {
			return "", p, err
		}
		key = fmt.Sprintf("%s/%d/%d", name, epoch, t)
		if p, err = q.proveRound(s, epoch, t); err != nil || name == "round" {
			return key, p, err
		}
		m, err := q.modelAfter(s, epoch, t)
		return key, proof.Model(m.Parameters, p), err
	}
	p, err = proof.State(s, path)
	return path, p, notFound(err)
}

// proveChunk proves one chunk of the model after a closed round. The argument is {round}/{i} or {epoch}/{round}/{i}.
func (q *Queries) proveChunk(s *app.State, arg string) (key string, p proof.Proven, err error) {
	cut := strings.LastIndex(arg, "/")
	epoch, t, err := roundArgument(s, arg[:cut])
	if err != nil {
		return "", p, err
	}
	i, err := argument(arg[cut+1:])
	if err != nil {
		return "", p, err
	}
	round, err := q.proveRound(s, epoch, t)
	if err != nil {
		return "", p, err
	}
	m, err := q.modelAfter(s, epoch, t)
	if err != nil {
		return "", p, err
	}
	p, err = proof.Chunk(m.Parameters, i, round)
	return fmt.Sprintf("chunk/%d/%d/%d", epoch, t, i), p, notFound(err)
}

// notFound wraps an error about a missing value in ErrNotFound, which has a result code.
func notFound(err error) error {
	if errors.Is(err, proof.ErrNoValue) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

func (q *Queries) bundle(s *app.State, epoch, t uint64) (b Bundle, err error) {
	b.Height = s.Height
	if b.Round, err = q.proveRound(s, epoch, t); err != nil {
		return b, err
	}
	for key, proven := range map[string]*proof.Proven{"progress": &b.Progress, "params": &b.Params, "epochs": &b.Epochs,
		"participants": &b.Participants} {
		if *proven, err = proof.State(s, key); err != nil {
			return b, err
		}
	}
	return b, nil
}

// stateAfter returns the current state if arg is empty. If arg names a round, it returns the last
// checkpoint at or before that round.
func (q *Queries) stateAfter(s *app.State, arg string) (after StateAfter, err error) {
	if arg == "" {
		return StateAfter{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Height: s.Height, Document: s.Encode()}, nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return after, err
	}
	k, err := q.Store.LatestCheckpoint(epoch, t)
	if err != nil {
		return after, err
	}
	if k == nil {
		return after, fmt.Errorf("%w: no state at or before epoch %d round %d is kept; the state after one in every "+
			"%d rounds is", ErrNotFound, epoch, t, q.Store.CheckpointEvery)
	}
	r, err := q.record(s, k.Epoch, k.Round)
	if err != nil {
		return after, err
	}
	return StateAfter{Epoch: k.Epoch, Round: k.Round, Height: r.Height, Document: k.Document}, nil
}

// queryParticipants returns all participants if arg is empty. If arg is an index, it returns the
// participant with that index.
func queryParticipants(_ *Queries, s *app.State, arg string) (any, error) {
	if arg == "" {
		return s.Participants, nil
	}
	return registered(s, arg)
}

// registered returns the participant with the index that arg names.
func registered(s *app.State, arg string) (*app.Participant, error) {
	i, err := argument(arg)
	if err != nil {
		return nil, err
	}
	if i >= uint64(len(s.Participants)) {
		return nil, fmt.Errorf("%w: participant %d, %d are registered", ErrNotFound, i, len(s.Participants))
	}
	return &s.Participants[i], nil
}
