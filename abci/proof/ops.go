package proof

import (
	"bytes"
	"fmt"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"

	"github.com/spdl/spdl/app"
)

// These are the types of the operators, in addition to CometBFT's merkle.ProofOpValue.
const (
	OpList   = "spdl:list"   // its input is a whole list, its output the Merkle root over the list's elements
	OpChunks = "spdl:chunks" // its input is all parameters, its output the Merkle root over their chunks
	OpRecord = "spdl:record" // its input is the root over the parameters, its output the record with that root
)

// These are the keys of the operators: keyModelHash for OpRecord, and keyWhole for OpList and OpChunks. No leaf has
// such a key, so a proof cannot contain an operator that the verifier did not request.
const (
	keyWhole     = "*"
	keyModelHash = "model_hash"
)

// wholeOperators maps the type of an operator to two functions: join joins the elements of a tree
// into one value, and split cuts such a value into the elements.
var wholeOperators = map[string]struct {
	join  func([][]byte) []byte
	split func([]byte) ([][]byte, error)
}{
	OpList: {app.JoinList, app.SplitList},
	OpChunks: {func(chunks [][]byte) []byte { return bytes.Join(chunks, nil) },
		func(data []byte) ([][]byte, error) { return app.Chunks(data), nil }},
}

// wholeOp returns the type of the proof operator that computes the root of a whole list or vector. The
// state's tree holds that root under key. wholeOp returns "" if the value under key is no such root.
func wholeOp(key string) string {
	switch key {
	case "epochs", "offences", "participants", "proposals":
		return OpList
	case "model", "velocity":
		return OpChunks
	}
	return ""
}

// Runtime returns CometBFT's proof runtime with the operators of this package.
func Runtime() *merkle.ProofRuntime {
	r := merkle.DefaultProofRuntime()
	r.RegisterOpDecoder(OpList, decodeWhole)
	r.RegisterOpDecoder(OpChunks, decodeWhole)
	r.RegisterOpDecoder(OpRecord, decodeRecord)
	return r
}

// wholeOperator computes the root of a tree from one value that holds all elements of the tree.
type wholeOperator struct{ typ string }

func decodeWhole(op cmtcrypto.ProofOp) (merkle.ProofOperator, error) {
	if string(op.Key) != keyWhole || len(op.Data) != 0 {
		return nil, fmt.Errorf("operator %s has key %q and %d bytes of data, want %q and none", op.Type, op.Key, len(op.Data),
			keyWhole)
	}
	return wholeOperator{op.Type}, nil
}

func (o wholeOperator) Run(args [][]byte) ([][]byte, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%d values, want 1", len(args))
	}
	elements, err := wholeOperators[o.typ].split(args[0])
	root := app.Root(app.Indexed(elements))
	return [][]byte{root[:]}, err
}

func (o wholeOperator) GetKey() []byte { return []byte(keyWhole) }

func (o wholeOperator) ProofOp() cmtcrypto.ProofOp {
	return cmtcrypto.ProofOp{Type: o.typ, Key: o.GetKey()}
}

// recordOp is a step of a proof. Its input is the Merkle root of a round's parameters, its output the
// round's record. It fails if the record does not have that root.
type recordOp struct{ record []byte }

func decodeRecord(op cmtcrypto.ProofOp) (merkle.ProofOperator, error) {
	if string(op.Key) != keyModelHash {
		return nil, fmt.Errorf("operator %s has key %q, want %q", op.Type, op.Key, keyModelHash)
	}
	return recordOp{op.Data}, nil
}

func (o recordOp) Run(args [][]byte) ([][]byte, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%d values, want 1", len(args))
	}
	r, err := app.DecodeRecord(o.record)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(args[0], r.ModelHash) {
		return nil, fmt.Errorf("parameters have hash %X, the record says %X", args[0], r.ModelHash)
	}
	return [][]byte{o.record}, nil
}

func (o recordOp) GetKey() []byte { return []byte(keyModelHash) }

func (o recordOp) ProofOp() cmtcrypto.ProofOp {
	return cmtcrypto.ProofOp{Type: OpRecord, Key: o.GetKey(), Data: o.record}
}
