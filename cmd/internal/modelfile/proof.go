package modelfile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/privacy/accountant"
)

// Bundle is the proof of a model. The record of the round holds the hash of the parameters. The header's application
// hash proves the record, the params and the participants. Validators that the verifier trusts signed the header.
type Bundle struct {
	Header []byte `json:"header"` // LightBlock in protobuf: signed header and validators
	proof.Bundle
}

// Header returns the light block that the file carries.
func (f *File) Header() (*types.LightBlock, error) { return DecodeHeader(f.Card.Proof.Header) }

// State verifies the bundle against its own header, and returns that header, the record of the round,
// and the values of the state that the bundle proves.
func (b Bundle) State() (*types.LightBlock, app.Record, *app.State, error) {
	s := new(app.State)
	header, err := DecodeHeader(b.Header)
	if err != nil {
		return nil, app.Record{}, nil, err
	}
	hash := []byte(header.AppHash)
	s.ChainID, s.Height = header.ChainID, uint64(header.Height)-1
	r, err := app.DecodeRecord(b.Round.Value)
	if err != nil {
		return nil, r, nil, fmt.Errorf("%w: %w", proof.ErrNotProven, err)
	}
	return header, r, s, errors.Join(
		Value("round/"+r.Pair().Key, b.Round, hash, func([]byte) error { return nil }),
		Value("params", b.Params, hash, s.Params.Unmarshal),
		Value("progress", b.Progress, hash, s.Progress.Unmarshal),
		Value("epochs", b.Epochs, hash, Into(&s.Epochs, app.DecodeEpochs)),
		Value("participants", b.Participants, hash, Into(&s.Participants, app.DecodeParticipants)),
	)
}

// Describe verifies the bundle against its own header, and returns the card that follows from it, without a digest.
func (b Bundle) Describe() (Card, error) {
	header, r, s, err := b.State()
	if err != nil {
		return Card{}, err
	}
	p, n := s.Params, s.Active()
	if r.Epoch != s.Progress.Epoch {
		i := slices.IndexFunc(s.Epochs, func(e app.Epoch) bool { return e.Epoch == r.Epoch })
		if i < 0 {
			return Card{}, fmt.Errorf("%w: epoch %d of the record is not among the %d that have ended", proof.ErrNotProven,
				r.Epoch, len(s.Epochs))
		}
		p = s.Epochs[i].Params
	}
	c := Card{
		Version: Version, ChainID: header.ChainID, Epoch: r.Epoch, Round: r.Round, Rounds: p.Training.Rounds,
		Closed: r.Height,
		Preset: p.Preset, Rule: r.Rule, Participants: n, Byzantine: p.Rule.F(n),
		Included: len(r.Contributions), Model: p.Model, ModelHash: hex.EncodeToString(r.ModelHash),
		Mechanism: p.Privacy.Mechanism,
		Height:    header.Height, AppHash: hex.EncodeToString(header.AppHash), Proof: b,
		TestChain:     app.KnownNoise(s.Params, s.Epochs),
		Unit:          p.Privacy.Unit,
		Lemma1Epsilon: p.Privacy.Lemma1Epsilon,
	}
	if app.Accounted(s.Params, s.Epochs) {
		c.Delta = p.Privacy.Delta
		if c.Epsilon, err = epsilon(s.Participants, c.Delta); err != nil {
			return c, err
		}
	}
	if _, err := json.Marshal(c); err != nil { // the header may be forged, with params that are NaN or infinite
		return c, fmt.Errorf("%w: what is proven cannot stand on a card: %w", proof.ErrNotProven, err)
	}
	return c, nil
}

// Value verifies the proof of a value of the state and decodes the value.
func Value(key string, p proof.Proven, appHash []byte, decode func([]byte) error) error {
	if err := p.Verify(key, appHash); err != nil {
		return err
	}
	if err := decode(p.Value); err != nil {
		return fmt.Errorf("%w: %s: %w", proof.ErrNotProven, key, err)
	}
	return nil
}

// Into returns the function for Value that stores what decode returns.
func Into[T any](to *T, decode func([]byte) (T, error)) func([]byte) error {
	return func(value []byte) (err error) {
		*to, err = decode(value)
		return err
	}
}

// epsilon returns the largest spent epsilon. It is rounded up, so that machines whose logarithms
// differ in the last bit return the same number.
func epsilon(participants []app.Participant, delta float64) (*float64, error) {
	ledgers := make([][]uint64, len(participants))
	for i, p := range participants {
		ledgers[i] = p.Spent
	}
	most, err := accountant.GreatestEpsilon(ledgers, delta)
	if err != nil {
		return nil, err
	}
	most = math.Ceil(most*1e4) / 1e4
	return &most, nil
}

// EncodeHeader returns a light block in protobuf.
func EncodeHeader(b *types.LightBlock) ([]byte, error) {
	m, err := b.ToProto()
	if err != nil {
		return nil, fmt.Errorf("light block: %w", err)
	}
	return m.Marshal()
}

// DecodeHeader is the inverse of EncodeHeader, for untrusted bytes.
func DecodeHeader(data []byte) (*types.LightBlock, error) {
	var m cmtproto.LightBlock
	if err := m.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%w: light block: %w", proof.ErrNotProven, err)
	}
	b, err := types.LightBlockFromProto(&m)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: light block: %w", proof.ErrNotProven, err)
	case b.SignedHeader == nil || b.Header == nil || b.Commit == nil || b.ValidatorSet == nil:
		return nil, fmt.Errorf("%w: light block without header, commit or validators", proof.ErrNotProven)
	}
	if again, err := EncodeHeader(b); err != nil || !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%w: light block is not canonical", proof.ErrNotProven)
	}
	return b, nil
}
