package contribution

import "github.com/spdl/spdl/gradients"

// A copied gradient moves the model without telling anything new. The noise and the sampled examples make every
// gradient unlike all others, so an equal or nearly equal gradient is a copy. Other copies are not found: with fresh
// noise of its own, a copy looks like a gradient of similar data.
const (
	memory = 8 // max age of the original, in rounds
	// copied is the limit of a ratio of two unexplained shares of a copy: what its original leaves
	// unexplained, divided by what the gradient of the original's sender in the copy's round leaves
	// unexplained. An honest gradient is no nearer to an older gradient of another participant than
	// to that participant's present one, whether their data are alike or not.
	copied = 0.02
)

// copies finds gradients that repeat others.
type copies struct {
	rounds [][]sent // the last ones, newest first
}

// sent is a gradient of a round.
type sent struct {
	participant uint32
	vector      gradients.Vector
	square      float64
}

// origin is the gradient from which another one was copied. The copied part is share times vector.
type origin struct {
	participant uint32
	vector      gradients.Vector
	share       float64 // 0 if nothing was copied
}

// find returns the origin of each gradient of a round, and remembers the round.
func (c *copies) find(participants []uint32, vectors []gradients.Vector) []origin {
	now := make([]sent, len(vectors))
	for i, v := range vectors {
		now[i] = sent{participants[i], v, float64(v.SquaredNorm())}
	}
	if len(c.rounds) > 0 && c.rounds[0][0].vector.Len() != vectors[0].Len() { // of another epoch's model
		c.rounds = nil
	}
	out := make([]origin, len(vectors))
	gradients.InParallel(len(vectors), len(vectors)*memory*vectors[0].Len(), func(i int) {
		own := now[i]
		if own.square == 0 {
			return
		}
		if out[i] = twin(own, now); out[i].share == 0 {
			out[i] = c.earlier(own, now)
		}
	})
	c.rounds = append([][]sent{now}, c.rounds[:min(len(c.rounds), memory-1)]...)
	return out
}

// earlier returns the earlier gradient that a gradient copies. Some earlier gradients count as the
// original only if they are equal: those of the participant itself, and those of a sender that is
// not in the round. On data that never change, honest gradients nearly repeat themselves.
func (c *copies) earlier(own sent, now []sent) (best origin) {
	bounds := map[uint32]float64{}
	for _, other := range now {
		if other.participant != own.participant {
			left, _ := unexplained(own, other)
			bounds[other.participant] = float64(copied * left)
		}
	}
	least := 1.0
	for _, round := range c.rounds {
		for _, old := range round {
			if left, share := unexplained(own, old); left <= bounds[old.participant] && left < least {
				least, best = left, origin{old.participant, old.vector, share}
			}
			if old.vector.Equal(own.vector) {
				return origin{old.participant, old.vector, 1}
			}
		}
	}
	return best
}

// twin returns the share that a gradient has in common with equal gradients of its round. The
// senders of k equal gradients share the value of one, so this is all but its part.
func twin(own sent, now []sent) (first origin) {
	equal := 0
	for _, other := range now {
		if other.participant == own.participant || !other.vector.Equal(own.vector) {
			continue
		}
		if equal++; equal == 1 {
			first = origin{participant: other.participant, vector: other.vector}
		}
	}
	first.share = float64(equal) / float64(equal+1)
	return first
}

// unexplained returns the share of a gradient's squared norm that no positive multiple of another
// gradient explains, and the multiple that explains most.
func unexplained(own, other sent) (left, share float64) {
	dot := float64(gradients.Dot(own.vector, other.vector))
	if dot <= 0 {
		return 1, 0
	}
	share = dot / other.square
	return max(0, 1-float64(share*float64(dot/own.square))), share
}
