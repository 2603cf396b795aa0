package sim

import (
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Faults are the faults of a node. The zero value is an honest node.
type Faults struct {
	Down        bool // neither votes nor receives anything
	Partitioned bool // no message passes to or from it

	Silent         bool // sends no gradient and never leads
	MuteLeader     bool // sends gradients and never leads
	WrongAggregate bool // leads with a Delta that is not the rule's
	TwoAggregates  bool // leads with a wrong Delta and then with the right one
	TwoGradients   bool // sends two gradients a round
	Opposed        bool // sends the negative of its gradient
	Withhold       bool // commits to gradients and does not reveal them
	LateCommit     bool // commits only after its round has taken the other commitments
	TwoCommits     bool // commits to two gradients a round, and reveals both

	EmptyBlocks bool // proposes empty blocks, whatever is pending
	BadBlocks   bool // proposes blocks that break a rule
	Accomplice  bool // votes for every block
}

// Any reports whether the node has any fault.
func (f Faults) Any() bool { return f != Faults{} }

// spoil returns a block that breaks a rule. The height selects which rule.
func (node *Node) spoil(height int64, txs [][]byte) [][]byte {
	if len(txs) < 2 {
		return [][]byte{[]byte("garbage")}
	}
	txs = slices.Clone(txs)
	if t, err := tx.Decode(txs[0]); err == nil && t.Commit != nil {
		return append(txs, txs[0]) // commitments may be missing from a block, but not occur twice
	}
	switch height % 5 {
	case 0: // a gradient is missing
		return txs[:len(txs)-1]
	case 1: // the aggregate is not first
		return append(txs[1:], txs[0])
	case 2: // a gradient twice
		return append(txs, txs[len(txs)-1])
	case 3: // a byte is changed
		raw := slices.Clone(txs[1])
		raw[len(raw)-1] ^= 1
		txs[1] = raw
		return txs
	}
	return txs[1:] // no aggregate
}
