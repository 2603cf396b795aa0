package proof

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"

	"github.com/spdl/spdl/app"
)

var (
	// ErrNotProven is wrapped by every error about a value that does not follow from an application hash.
	ErrNotProven = errors.New("proof does not hold")
	// ErrNoValue means that a state has no value under a key.
	ErrNoValue = errors.New("nothing in the state to prove")
)

// Proven is a value, and the operators that lead from the value to an application hash. The value
// must not be trusted before Verify.
type Proven struct {
	Value []byte              `json:"value"`
	Ops   *cmtcrypto.ProofOps `json:"proof"`
}

// operatorKeys returns the keys of the operators in a proof of the value under a key, from the
// state's tree down to the value.
func operatorKeys(key string) []string {
	parts := strings.Split(key, "/")
	switch {
	case parts[0] == "round" && len(parts) == 3:
		return []string{"history", parts[1] + "/" + parts[2]}
	case parts[0] == "model" && len(parts) == 3:
		return []string{"history", parts[1] + "/" + parts[2], keyModelHash, keyWhole}
	case parts[0] == "chunk" && len(parts) == 4:
		return []string{"history", parts[1] + "/" + parts[2], keyModelHash, parts[3]}
	case parts[0] == "chunk" && len(parts) == 2:
		return []string{"model", parts[1]}
	case len(parts) == 1 && wholeOp(key) != "":
		return []string{key, keyWhole}
	}
	return parts
}

// KeyPath returns the keys of a proof's operators, in the form of a path for VerifyValue of
// CometBFT's merkle.ProofRuntime.
func KeyPath(key string) string {
	var path merkle.KeyPath
	for _, level := range operatorKeys(key) {
		path = path.AppendKey([]byte(level), merkle.KeyEncodingURL)
	}
	return path.String()
}

// Verify returns an error if the operators do not prove that the state with the application hash appHash has the value
// under the given key. The caller must pass the key that it requested, not a key from the answer.
func (p Proven) Verify(key string, appHash []byte) error {
	if p.Ops == nil || len(p.Ops.Ops) != len(operatorKeys(key)) {
		return fmt.Errorf("%w: %q takes %d operators, the proof has %d", ErrNotProven, key, len(operatorKeys(key)),
			len(p.Ops.GetOps()))
	}
	if err := Runtime().VerifyValue(p.Ops, appHash, KeyPath(key), p.Value); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotProven, key, err)
	}
	return nil
}

// Root returns the application hash that the operators compute from the value. Root verifies
// nothing: the caller must look up the header with this hash.
func (p Proven) Root() (root [32]byte, err error) {
	if p.Ops == nil || len(p.Ops.Ops) == 0 {
		return root, fmt.Errorf("%w: it has 0 operators, want at least 1", ErrNotProven)
	}
	ops, err := Runtime().DecodeProof(p.Ops)
	if err != nil {
		return root, fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	args := [][]byte{p.Value}
	for _, op := range ops {
		if args, err = op.Run(args); err != nil {
			return root, fmt.Errorf("%w: %w", ErrNotProven, err)
		}
	}
	if len(args[0]) != len(root) {
		return root, fmt.Errorf("%w: it leads to %d bytes, want a hash of %d", ErrNotProven, len(args[0]), len(root))
	}
	return [32]byte(args[0]), nil
}

// State proves the value under the given key in the state s. It fails with ErrNoValue if the state
// has no such key. The keys are
//
//   - params, progress, chain_id, closed and history for single values;
//   - epochs, offences, participants, proposals, model and velocity for whole lists;
//   - {list}/{position} for one element of a list, and chunk/{i} for a chunk of the model.
func State(s *app.State, key string) (Proven, error) {
	path := operatorKeys(key)
	elements, isList := s.List(path[0])
	switch {
	case isList && len(path) == 2 && path[1] == keyWhole:
		join := wholeOp(path[0])
		return extend(s, path[0], Proven{Value: wholeOperators[join].join(elements),
			Ops: operators(wholeOperator{join}.ProofOp())})
	case isList && len(path) == 2:
		p, err := proveLeaf(app.Indexed(elements), path[1])
		if err != nil {
			return p, fmt.Errorf("%w: %s", err, key)
		}
		return extend(s, path[0], p)
	case !isList && len(path) == 1:
		return proveLeaf(s.Tree(), path[0])
	}
	return Proven{}, fmt.Errorf("%w: unknown key %.80q", ErrNoValue, key)
}

// extend adds one operator to the proof base. That proof leads to the value under key in the
// state's tree, and the operator leads from that value to the application hash.
func extend(s *app.State, key string, base Proven) (Proven, error) {
	top, err := proveLeaf(s.Tree(), key)
	if err == nil {
		base.Ops.Ops = append(base.Ops.Ops, top.Ops.Ops...)
	}
	return base, err
}

// proveLeaf proves the value under the given key of the tree.
func proveLeaf(tree []app.Pair, key string) (Proven, error) {
	leaves := make([][]byte, len(tree))
	at := -1
	for i, p := range tree {
		leaves[i] = p.Leaf()
		if p.Key == key {
			at = i
		}
	}
	if at < 0 {
		return Proven{}, fmt.Errorf("%w: no key %.80q in a tree of %d", ErrNoValue, key, len(tree))
	}
	_, proofs := merkle.ProofsFromByteSlices(leaves)
	return Proven{Value: tree[at].Value, Ops: operators(merkle.NewValueOp([]byte(key), proofs[at]).ProofOp())}, nil
}

func operators(ops ...cmtcrypto.ProofOp) *cmtcrypto.ProofOps { return &cmtcrypto.ProofOps{Ops: ops} }

// Bundle proves the model after one closed round. It holds the round's record, which has the hash of the model, and the
// values that a reader needs to interpret the record. All values are proven for one state.
type Bundle struct {
	Round        Proven `json:"round"`        // the round's record
	Progress     Proven `json:"progress"`     // the progress, which names the running epoch
	Params       Proven `json:"params"`       // the parameters of the running epoch
	Epochs       Proven `json:"epochs"`       // the ended epochs
	Participants Proven `json:"participants"` // all participants
}
