package app

import (
	"math/bits"

	"github.com/spdl/spdl/app/tx"
)

// Assemble picks the transactions of a round for the block at the given height. They are the
// aggregate of the lowest view among the pending aggregates that can close the round, and the
// gradients that this aggregate lists. If no aggregate can close the round, the result is nil. The
// result has at most limit bytes as CometBFT counts them; zero means no limit.
//
// Assemble does not run the rule, so Execute rejects the result only if the aggregate's Delta is wrong. In that case
// the caller removes the aggregate from pending and calls Assemble again. Operations picks the rest of the block.
func (s *State) Assemble(height uint64, pending []*tx.Tx, limit int64) []*tx.Tx {
	if s.Finished() {
		return nil
	}
	var byParticipant map[uint32][]*tx.Tx // nil until the loop finds an aggregate that may close the round
	var best []*tx.Tx
	for _, t := range pending {
		a := t.Aggregate
		if a == nil || best != nil && a.View >= best[0].Aggregate.View {
			continue
		}
		if uint64(a.View) > s.OpenView(height) || s.mayCloseWith(participantsOf(a.Included), height) != nil ||
			s.checkAggregate(t) != nil {
			continue
		}
		if byParticipant == nil {
			byParticipant = s.gradientsOf(pending)
		}
		if block := withGradients(t, byParticipant); block != nil && (limit <= 0 || bytesOf(block) <= limit) {
			best = block
		}
	}
	return best
}

// gradientsOf returns the pending gradients of the open round, by participant.
func (s *State) gradientsOf(pending []*tx.Tx) map[uint32][]*tx.Tx {
	by := make(map[uint32][]*tx.Tx, len(s.Participants))
	for _, t := range pending {
		if g := t.Gradient; g != nil && s.isOpen(g.Epoch, g.Round) {
			by[g.Participant] = append(by[g.Participant], t)
		}
	}
	return by
}

// Operations picks the pending operations that may follow the chosen transactions in the block. The picked operations
// and the chosen transactions together have at most limit bytes as CometBFT counts them; zero means no limit.
func (s *State) Operations(pending, chosen []*tx.Tx, limit int64) []*tx.Tx {
	var out []*tx.Tx
	used := bytesOf(chosen)
	next, joins := s.clone(s.Height+1), 0
	for _, t := range pending {
		if len(out) == maxOperations {
			break
		}
		if t.Kind() == tx.KindJoin && joins == maxJoins {
			continue
		}
		n := bytesOf([]*tx.Tx{t})
		if limit > 0 && used+n > limit || next.checkOperation(t) != nil {
			continue
		}
		next.applyOperation(t)
		if t.Kind() == tx.KindJoin {
			joins++
		}
		out = append(out, t)
		used += n
	}
	return out
}

// withGradients returns the aggregate followed by its gradients, or nil if a gradient is missing.
func withGradients(t *tx.Tx, byParticipant map[uint32][]*tx.Tx) []*tx.Tx {
	block := []*tx.Tx{t}
	for _, in := range t.Aggregate.Included {
		for _, g := range byParticipant[in.Participant] {
			if sameGradient(in, g) {
				block = append(block, g)
				break
			}
		}
	}
	if len(block) != 1+len(t.Aggregate.Included) {
		return nil
	}
	return block
}

// bytesOf returns the size of transactions in the protobuf encoding of a block: for each
// transaction a byte of tag, the length as a varint, and the transaction's bytes.
func bytesOf(txs []*tx.Tx) int64 {
	var total int64
	for _, t := range txs {
		total += int64(1 + (bits.Len(uint(len(t.Raw)))+6)/7 + len(t.Raw))
	}
	return total
}
