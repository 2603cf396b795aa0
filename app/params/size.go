package params

import "fmt"

// Bounds on the bytes of a block and its transactions beside the gradients' payloads (app/SPEC.md).
const (
	envelopeBytes     = 512     // what a gradient or an aggregate takes beside its payload: signature, proof, header
	includedBytes     = 48      // an aggregate's entry: a hash and an index
	commitBytes       = 3400    // of a worst-case commit, for each validator
	operationBytes    = 1 << 16 // of the operations behind a round
	leastBlockBytes   = 1 << 20
	blockBytesPercent = 130       // of the round's transactions
	maxBlockBytes     = 104857600 // CometBFT's bound
)

// EvidenceBytes is the evidence.max_bytes of a chain: the most bytes of evidence in
// a block. A validator can sign any amount of evidence against itself, and what a
// block carries of it is taken from the room of the round's transactions.
const EvidenceBytes = 1 << 16

// GradientBytes bounds a gradient's transaction.
func (p Params) GradientBytes() int64 {
	return int64(p.Model.Dim())*int64(p.Grid.Width) + envelopeBytes
}

// AggregateBytes bounds the transaction of an aggregate of n gradients. At a tolerance it carries
// its vector.
func (p Params) AggregateBytes(n int) int64 {
	bytes := int64(n)*includedBytes + envelopeBytes
	if p.Rule.Tolerance > 0 {
		bytes += 8 * int64(p.Model.Dim())
	}
	return bytes
}

// TxBytes bounds the largest transaction of a round of n participants.
func (p Params) TxBytes(n int) int64 { return max(p.GradientBytes(), p.AggregateBytes(n)) }

// RoundBytes bounds the transactions of a block that closes a round of n
// participants, beside other transactions.
func (p Params) RoundBytes(n int) int64 {
	return int64(n)*p.GradientBytes() + p.AggregateBytes(n)
}

// BlockBytes returns the block size that a round of n participants needs: 1.3 times
// its transactions, a worst-case commit, the most evidence, and room for other
// transactions.
func (p Params) BlockBytes(n int) int64 {
	return max(leastBlockBytes, p.RoundBytes(n)*blockBytesPercent/100+int64(n)*commitBytes+EvidenceBytes+operationBytes)
}

// CheckBlock refuses parameters whose rounds fit into no block.
func (p Params) CheckBlock(n int) error {
	if need := p.BlockBytes(n); need > maxBlockBytes {
		return fmt.Errorf("a round of %d participants takes blocks of %d bytes, CometBFT's bound is %d", n, need, maxBlockBytes)
	}
	return nil
}
