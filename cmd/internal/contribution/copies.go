package contribution

import "github.com/spdl/spdl/gradients"

// A copied gradient moves the model and tells it nothing. Its noise, and the examples that were
// drawn for it, make a gradient unlike any other. Only copies that are equal or nearly so are
// found: under fresh noise of its own a copy is not told from a gradient of like data.
const (
	memory = 8 // rounds that a copy may be old
	// copied is the largest share that the original of a copy leaves unexplained, of what its
	// sender's gradient of the copy's own round leaves unexplained. An honest gradient is no nearer
	// to an older gradient of another participant than to that participant's present one, whether
	// their data are alike or not.
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

// origin is what a gradient was copied from: share times the vector is not its sender's own.
type origin struct {
	participant uint32
	vector      gradients.Vector
	share       float64 // 0: nothing was copied
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

// earlier returns the earlier gradient that a gradient copies. Of a participant's own earlier
// gradients, and of those of a sender that is not in the round, only an equal one is a copy: on
// data that never change, honest gradients nearly repeat themselves.
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

// twin returns the share that a gradient has in common with equal ones of its round: all but its
// part, because the senders of k equal gradients share the value of one.
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
// explains, and the multiple that explains most.
func unexplained(own, other sent) (left, share float64) {
	dot := float64(gradients.Dot(own.vector, other.vector))
	if dot <= 0 {
		return 1, 0
	}
	share = dot / other.square
	return max(0, 1-float64(share*float64(dot/own.square))), share
}
