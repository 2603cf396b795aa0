package abci

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"

	"github.com/spdl/spdl/app"
)

// The types of proof operations. A ProofOp of ProofState has in Data the
// JSON of an app.Proof, and leads from the value to the application hash; one of
// ProofModel has a round's record, and leads from the parameters that it names by
// their hash to the record, whose own ProofState follows.
const (
	ProofState = "spdl:state"
	ProofModel = "spdl:model"
)

// Bundle is the answer to /bundle/{t}: what a round's model is proven by, all of
// one state. Its application hash is in the header of the height after.
type Bundle struct {
	Height       uint64     `json:"height"`
	Round        app.Proven `json:"round"`        // its record
	Progress     app.Proven `json:"progress"`     // which epoch is running
	Params       app.Proven `json:"params"`       // of the running epoch
	Epochs       app.Proven `json:"epochs"`       // those that have ended
	Participants app.Proven `json:"participants"` // all
}

// StateAfter is the answer to /kept/{t}: the last state at or before a round that
// this node keeps, to compute the models after it from.
type StateAfter struct {
	Epoch    uint64 `json:"epoch"`
	Round    uint64 `json:"round"`
	Height   uint64 `json:"height"`
	Document []byte `json:"document"` // app.State.Encode
}

// history remembers the leaves of the records' tree, which the store's records
// give and nobody changes.
type history struct {
	mu     sync.Mutex
	last   *app.Record
	places map[[2]uint64]uint64 // epoch and round to the place in leaves
	leaves [][32]byte
}

// grow reads the records that came since, up to size in all.
func (h *history) grow(size uint64, records func(*app.Record, func(*app.Record) bool) error) error {
	if uint64(len(h.leaves)) >= size {
		return nil
	}
	if h.places == nil {
		h.places = map[[2]uint64]uint64{}
	}
	return records(h.last, func(r *app.Record) bool {
		h.places[[2]uint64{r.Epoch, r.Round}] = uint64(len(h.leaves))
		h.leaves = append(h.leaves, r.Leaf())
		h.last = r
		return uint64(len(h.leaves)) < size
	})
}

// proveRound proves a closed round's record.
func (a *Application) proveRound(s *app.State, epoch, t uint64) (app.Proven, error) {
	r, err := a.record(s, epoch, t)
	if err != nil {
		return app.Proven{}, err
	}
	h := &a.history
	h.mu.Lock()
	if err := h.grow(s.Closed(), a.store.Records); err != nil {
		h.mu.Unlock()
		return app.Proven{}, err
	}
	place, ok := h.places[[2]uint64{epoch, t}]
	leaves := h.leaves[:len(h.leaves):len(h.leaves)]
	h.mu.Unlock()
	if uint64(len(leaves)) < s.Closed() || !ok {
		return app.Proven{}, fmt.Errorf("%w: this node has %d of %d records: it joined by state sync and proves no rounds, ask another", errNotFound, len(leaves), s.Closed())
	}
	return s.ProveRound(r, place, leaves)
}

// prove answers a query with Prove set: the proven bytes, the key of the proof
// and its operations.
func (a *Application) prove(s *app.State, path string) (value []byte, key string, ops *cmtcrypto.ProofOps, err error) {
	var p app.Proven
	name, arg, _ := strings.Cut(path, "/")
	switch {
	case name == "round", name == "model" && arg != "":
		epoch, t, err := roundArgument(s, arg)
		if err != nil {
			return nil, "", nil, err
		}
		if p, err = a.proveRound(s, epoch, t); err != nil {
			return nil, "", nil, err
		}
		if name == "round" {
			break
		}
		m, err := a.modelAfter(s, epoch, t)
		if err != nil {
			return nil, "", nil, err
		}
		key = fmt.Sprintf("model/%d/%d", epoch, t)
		return m.Parameters, key, &cmtcrypto.ProofOps{Ops: []cmtcrypto.ProofOp{{Type: ProofModel, Key: []byte(key), Data: p.Value}, stateOp(p.Proof)}}, nil
	case name == "chunk":
		i, err := argument(strings.TrimSuffix(arg, fmt.Sprintf("/%d", s.Chunks())))
		if err != nil {
			return nil, "", nil, err
		}
		p, err = s.Prove(fmt.Sprintf("chunk/%d/%d", i, s.Chunks()))
		if err != nil {
			return nil, "", nil, proofError(err)
		}
	case name == "evidence" && arg == "":
		p, err = s.Prove("offences")
	default:
		p, err = s.Prove(path)
	}
	if err != nil {
		return nil, "", nil, proofError(err)
	}
	return p.Value, p.Proof.Key, &cmtcrypto.ProofOps{Ops: []cmtcrypto.ProofOp{stateOp(p.Proof)}}, nil
}

func stateOp(p app.Proof) cmtcrypto.ProofOp {
	return cmtcrypto.ProofOp{Type: ProofState, Key: []byte(p.Key), Data: p.Encode()}
}

// proofError gives a missing leaf its code.
func proofError(err error) error {
	if errors.Is(err, app.ErrNoLeaf) {
		return fmt.Errorf("%w: %w", errNotFound, err)
	}
	return err
}

func (a *Application) queryBundle(s *app.State, arg string) (any, error) {
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	b := Bundle{Height: s.Height}
	if b.Round, err = a.proveRound(s, epoch, t); err != nil {
		return nil, err
	}
	for key, proven := range map[string]*app.Proven{"progress": &b.Progress, "params": &b.Params, "epochs": &b.Epochs, "participants": &b.Participants} {
		if *proven, err = s.Prove(key); err != nil {
			return nil, proofError(err)
		}
	}
	return b, nil
}

func (a *Application) queryKept(s *app.State, arg string) (any, error) {
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	k, err := a.store.Nearest(epoch, t)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, fmt.Errorf("%w: no state at or before epoch %d round %d is kept, of every %d rounds one is", errNotFound, epoch, t, a.store.Every)
	}
	r, err := a.record(s, k.Epoch, k.Round)
	if err != nil {
		return nil, err
	}
	return StateAfter{Epoch: k.Epoch, Round: k.Round, Height: r.Height, Document: k.Document}, nil
}

// queryParticipants is all participants, or one by index.
func queryParticipants(_ *Application, s *app.State, arg string) (any, error) {
	if arg == "" {
		return s.Participants, nil
	}
	i, err := argument(arg)
	if err != nil {
		return nil, err
	}
	if i >= uint64(len(s.Participants)) {
		return nil, fmt.Errorf("%w: participant %d, %d are registered", errNotFound, i, len(s.Participants))
	}
	return s.Participants[i], nil
}
