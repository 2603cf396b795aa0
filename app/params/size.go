package params

import "fmt"

// These constants, in bytes, bound the parts of a block other than the gradients' payloads (app/SPEC.md).
const (
	envelopeBytes   = 512     // a gradient or an aggregate without payload: signature, proof and header
	includedBytes   = 48      // an entry in an aggregate's list: a hash and an index
	commitBytes     = 3400    // the space for each validator in CometBFT's commit
	operationBytes  = 1 << 16 // the space for all operations in a block
	leastBlockBytes = 1 << 20 // the min block size
	// blockBytesPercent is the space for a round's transactions, in percent of their bytes. BlockBytes
	// also adds CometBFT's commit, the evidence and the operations.
	blockBytesPercent = 130
	maxBlockBytes     = 104857600 // CometBFT's bound on a block
)

// EvidenceBytes is a chain's evidence.max_bytes, the max number of bytes of evidence in a block.
// The limit is low because a validator can sign any amount of evidence against itself, and a
// block's evidence takes space from the round's transactions.
const EvidenceBytes = 1 << 16

// GradientBytes bounds the transaction of a gradient, in bytes.
func (p Params) GradientBytes() int64 {
	return int64(p.Model.Dim())*int64(p.Grid.Width) + envelopeBytes
}

// AggregateBytes bounds the transaction of an aggregate of n gradients, in bytes. At a tolerance
// above 0 an aggregate carries Delta.
func (p Params) AggregateBytes(n int) int64 {
	bytes := int64(n)*includedBytes + envelopeBytes
	if p.Rule.Tolerance > 0 {
		bytes += 8 * int64(p.Model.Dim())
	}
	return bytes
}

// TxBytes bounds the largest transaction of a round with n participants, in bytes.
func (p Params) TxBytes(n int) int64 { return max(p.GradientBytes(), p.AggregateBytes(n)) }

// RoundBytes bounds the aggregate and the gradients that close a round with n participants, in bytes.
func (p Params) RoundBytes(n int) int64 {
	return int64(n)*p.GradientBytes() + p.AggregateBytes(n)
}

// BlockBytes returns the block size in bytes for rounds of n participants: 1.3 times a round's
// transactions, a worst-case commit, the max evidence, and space for operations.
func (p Params) BlockBytes(n int) int64 {
	return max(leastBlockBytes, p.RoundBytes(n)*blockBytesPercent/100+int64(n)*commitBytes+EvidenceBytes+operationBytes)
}

// CheckBlock rejects parameters with which a round of n participants would not fit into CometBFT's largest block.
func (p Params) CheckBlock(n int) error {
	if need := p.BlockBytes(n); need > maxBlockBytes {
		return fmt.Errorf("a round of %d participants takes blocks of %d bytes, CometBFT's bound is %d", n, need,
			maxBlockBytes)
	}
	return nil
}
