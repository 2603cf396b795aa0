package verify

import (
	"fmt"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
)

// Runtime verifies the proofs of SPDL's queries, also for CometBFT's own light
// client (light/rpc).
func Runtime() *merkle.ProofRuntime {
	r := merkle.NewProofRuntime()
	r.RegisterOpDecoder(abci.ProofState, decodeState)
	r.RegisterOpDecoder(abci.ProofModel, decodeModel)
	return r
}

// KeyPath returns what the proof of a query must be about: the key, and under
// model/{epoch}/{round} the round's record that names it.
func KeyPath(key string) string {
	var path merkle.KeyPath
	var epoch, round uint64
	if _, err := fmt.Sscanf(key, "model/%d/%d", &epoch, &round); err == nil {
		path = path.AppendKey(fmt.Appendf(nil, "round/%d/%d", epoch, round), merkle.KeyEncodingURL)
	}
	return path.AppendKey([]byte(key), merkle.KeyEncodingURL).String()
}

// stateOperator leads from a value to the application hash.
type stateOperator struct{ proof app.Proof }

func decodeState(op cmtcrypto.ProofOp) (merkle.ProofOperator, error) {
	p, err := app.DecodeProof(op.Data)
	if err == nil && string(op.Key) != p.Key {
		err = fmt.Errorf("%w: operation is about %q, its proof about %q", app.ErrNotProven, op.Key, p.Key)
	}
	return stateOperator{p}, err
}

func (o stateOperator) Run(args [][]byte) ([][]byte, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%w: %d values, want 1", app.ErrNotProven, len(args))
	}
	root, err := o.proof.Root(args[0])
	return [][]byte{root[:]}, err
}

func (o stateOperator) GetKey() []byte { return []byte(o.proof.Key) }

func (o stateOperator) ProofOp() cmtcrypto.ProofOp {
	return cmtcrypto.ProofOp{Type: abci.ProofState, Key: o.GetKey(), Data: o.proof.Encode()}
}

// modelOperator leads from the parameters after a round to the round's record.
type modelOperator struct{ key, record []byte }

func decodeModel(op cmtcrypto.ProofOp) (merkle.ProofOperator, error) {
	return modelOperator{op.Key, op.Data}, nil
}

func (o modelOperator) Run(args [][]byte) ([][]byte, error) {
	r, err := app.DecodeRecord(o.record)
	switch {
	case len(args) != 1:
		return nil, fmt.Errorf("%w: %d values, want 1", app.ErrNotProven, len(args))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", app.ErrNotProven, err)
	case string(o.key) != fmt.Sprintf("model/%d/%d", r.Epoch, r.Round):
		return nil, fmt.Errorf("%w: record of epoch %d round %d for %q", app.ErrNotProven, r.Epoch, r.Round, o.key)
	}
	x, err := app.DecodeParameters(args[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", app.ErrNotProven, err)
	}
	if hash := app.ModelHash(x); string(hash[:]) != string(r.ModelHash) {
		return nil, fmt.Errorf("%w: parameters have hash %X, the record says %X", app.ErrNotProven, hash, r.ModelHash)
	}
	return [][]byte{o.record}, nil
}

func (o modelOperator) GetKey() []byte { return o.key }

func (o modelOperator) ProofOp() cmtcrypto.ProofOp {
	return cmtcrypto.ProofOp{Type: abci.ProofModel, Key: o.key, Data: o.record}
}
