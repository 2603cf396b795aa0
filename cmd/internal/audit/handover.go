package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// Handover is the end of a replay at an upgrade. It holds what the release of the next version needs to execute the
// heights after it. It is no proof: the header of the next height has the hashes of its state, results, parameters and
// validators, and the replay of that release compares them.
type Handover struct {
	Height  uint64 `json:"height"`           // the last executed height
	State   []byte `json:"state"`            // the application's document of the state after it
	Record  []byte `json:"record,omitempty"` // of the round that the height closed
	Results []byte `json:"results"`          // the hash of the height's transaction results
	Params  []byte `json:"params"`           // consensus parameters of the next height, in protobuf
	// Validators of the height and of the two after it, in protobuf.
	Validators [3][]byte `json:"validators"`

	Block []byte `json:"-"` // the hash of the height's block, which the reader of a dossier has proven
}

// ErrHandover wraps every reason why a replay cannot continue the replay of another release.
var ErrHandover = errors.New("the earlier release's replay cannot be continued")

// handover returns the end of the replay, or nil unless the next height is of another version.
func (r *replay) handover() (*Handover, error) {
	if r.report.Blocks == 0 || r.state.Executable() == nil {
		return nil, nil
	}
	h := &Handover{Height: r.state.Height, State: r.state.Encode(), Results: r.results}
	if r.record != nil {
		h.Record = r.record.Pair().Value
	}
	params := r.params.ToProto()
	var err error
	if h.Params, err = params.Marshal(); err != nil {
		return nil, err
	}
	for i, set := range []*types.ValidatorSet{r.previous, r.validators, r.next} {
		set = set.Copy()
		set.GetProposer() // sets the proposer, which the encoding needs and no verification reads
		p, err := set.ToProto()
		if err != nil {
			return nil, err
		}
		if h.Validators[i], err = p.Marshal(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// take sets the state, and what belongs to it, from a handover.
func (r *replay) take(h *Handover) (err error) {
	if h.Height < uint64(r.doc.InitialHeight) {
		return fmt.Errorf("%w: it ended at height %d, the chain begins at %d", ErrHandover, h.Height, r.doc.InitialHeight)
	}
	if r.state, err = app.DecodeState(h.Height, h.State); err != nil {
		return fmt.Errorf("%w: state: %w", ErrHandover, err)
	}
	if err := r.state.Executable(); err != nil {
		return fmt.Errorf("%w: %w", ErrHandover, err)
	}
	var params cmtproto.ConsensusParams
	err = params.Unmarshal(h.Params)
	if err == nil && (params.Block == nil || params.Evidence == nil || params.Validator == nil || params.Version == nil) {
		err = errors.New("they are not whole")
	}
	if err == nil {
		r.params, r.results = types.ConsensusParamsFromProto(params), h.Results
		err = r.params.ValidateBasic()
	}
	if err != nil {
		return fmt.Errorf("%w: consensus parameters: %w", ErrHandover, err)
	}
	for i, set := range []**types.ValidatorSet{&r.previous, &r.validators, &r.next} {
		var p cmtproto.ValidatorSet
		err := p.Unmarshal(h.Validators[i])
		if err == nil {
			*set, err = types.ValidatorSetFromProto(&p)
		}
		if err != nil {
			return fmt.Errorf("%w: validators of height %d: %w", ErrHandover, h.Height+uint64(i), err)
		}
		(*set).Proposer = nil // as in a replay from genesis, where the proposer is unset
	}
	return nil
}

// skim reads the blocks that another release has executed, up to the replay's state. Each block must name the one
// before it. The last one must name the validators of the next height, because these validators signed the next block.
func (r *replay) skim(ctx context.Context, h *Handover) error {
	for height := uint64(r.doc.InitialHeight); height <= r.state.Height; height++ {
		b, err := r.read(ctx, height)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: it ended at height %d, the blocks end at %d", ErrHandover, r.state.Height, height-1)
		case err != nil:
			return err
		case b.sound == nil:
			return &Divergence{Height: height, Kind: KindBlock, Reason: b.fault.Error()}
		case !b.sound.LastBlockID.Equals(r.last):
			return &Divergence{Height: height, Kind: KindBlock, Reason: fmt.Sprintf("last block id is %X, the block before "+
				"is %X", b.sound.LastBlockID.Hash, r.last.Hash)}
		}
		if reason := r.checkVersion(b.sound); reason != "" {
			return &Divergence{Height: height, Kind: KindBlock, Reason: reason}
		}
		if r.last, err = identify(b.sound); err != nil {
			return err
		}
		r.past.add(b.sound, r.validatorsOf(b.sound.ValidatorsHash), r.params.Evidence)
		if r.began.IsZero() {
			r.began = b.sound.Time
		}
		r.ended = b.sound.Time
		if height == r.state.Height && !bytes.Equal(r.last.Hash, h.Block) {
			return fmt.Errorf("%w: the block of height %d is %X, there it is %X", ErrHandover, height, r.last.Hash, h.Block)
		}
		if height == r.state.Height && !bytes.Equal(b.sound.NextValidatorsHash, r.validators.Hash()) {
			return fmt.Errorf("%w: it names validators of hash %X for height %d, the header before has %X", ErrHandover,
				r.validators.Hash(), height+1, b.sound.NextValidatorsHash)
		}
	}
	return nil
}

// validatorsOf returns the validators with a hash, or nil if the handover has others.
func (r *replay) validatorsOf(hash []byte) *types.ValidatorSet {
	all := []*types.ValidatorSet{r.previous, r.validators, r.next}
	i := slices.IndexFunc(all, func(set *types.ValidatorSet) bool { return bytes.Equal(set.Hash(), hash) })
	if i < 0 {
		return nil
	}
	return all[i]
}
