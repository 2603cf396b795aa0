package node

// hash names a transaction: the SHA-256 of its bytes.
type hash [32]byte

// maxVerdicts bounds what is remembered of transactions that are not pending any more: some rounds
// of the largest chains.
const maxVerdicts = 1 << 14

// verdicts remembers what this node's admission said of transactions, the last maxVerdicts of them.
// What is known is not asked for again.
type verdicts struct {
	of    map[hash]verdict
	order []hash // a ring, of arrival
	next  int
}

// verdict is what admission said at a height.
type verdict struct {
	height   int64
	admitted bool
	final    bool // it was admitted for a round: once it has left the pool, it is of no use to anybody
}

func newVerdicts() *verdicts { return &verdicts{of: map[hash]verdict{}} }

// put remembers a verdict.
func (v *verdicts) put(h hash, said verdict) {
	if _, ok := v.of[h]; !ok {
		if len(v.order) < maxVerdicts {
			v.order = append(v.order, h)
		} else {
			delete(v.of, v.order[v.next])
			v.order[v.next] = h
			v.next = (v.next + 1) % maxVerdicts
		}
	}
	v.of[h] = said
}

// settled reports whether a transaction that is not pending is of no use at a height. What was
// refused may be admitted at the next.
func (v *verdicts) settled(h hash, height int64) bool {
	said, ok := v.of[h]
	return ok && (said.final || said.height == height)
}
