package node

// hash names a transaction: the SHA-256 of its bytes.
type hash [32]byte

// maxVerdicts bounds the remembered verdicts on transactions that are no longer pending: some
// rounds of the largest chains.
const maxVerdicts = 1 << 14

// verdicts caches this node's last maxVerdicts verdicts on transactions. A transaction with a
// verdict is not requested again.
type verdicts struct {
	of    map[hash]verdict
	order []hash // a ring, in order of arrival
	next  int
}

// verdict is the result of admission at a height.
type verdict struct {
	height   int64
	admitted bool
	final    bool // admitted for a round: once it has left the pool, nobody needs it
}

func newVerdicts() *verdicts { return &verdicts{of: map[hash]verdict{}} }

// put caches a verdict.
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

// settled reports whether nobody needs a transaction at a height, if it is not pending. A
// transaction rejected at one height may be admitted at the next.
func (v *verdicts) settled(h hash, height int64) bool {
	said, ok := v.of[h]
	return ok && (said.final || said.height == height)
}
