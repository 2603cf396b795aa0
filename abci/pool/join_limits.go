package pool

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// A node verifies at most joinRate Joins of outsiders a second, and at most joinBurst at once, and as
// many in the approvals of each member. All outsiders share one limit. To verify a Join, the node
// must check three signatures and a VRF proof, while a Join costs its sender nothing. If a flood of
// Joins keeps out the Join of a newcomer, a member can send that Join inside an approval.
const joinRate, joinBurst = 1, 8

// joinLimits limits the Joins that a node verifies.
type joinLimits struct {
	now func() time.Time

	mu sync.Mutex
	of map[tx.Place]*rate.Limiter // by kind and participant: of all outsiders, and of each member's approvals
}

// check rejects a Join beyond the rate of its sender. An approval counts only if its signature holds,
// because otherwise anybody could use up the rate of a member, and if the state lacks its proposal,
// because otherwise nobody looks at its Join.
func (l *joinLimits) check(s *app.State, t *tx.Tx) error {
	from, who := tx.Place{Kind: t.Kind()}, "outsiders, let a member's approval carry this one"
	switch body := t.Body.(type) {
	case *tx.Join:
	case *tx.Approve:
		i := slices.IndexFunc(s.Participants, func(p app.Participant) bool { return p.Index == body.Participant })
		if len(body.Join) == 0 || i < 0 || t.Verify(s.ChainID, s.Participants[i].PubKey) != nil ||
			slices.ContainsFunc(s.Proposals, func(p app.Proposal) bool { return bytes.Equal(p.Id, body.Proposal) }) {
			return nil
		}
		from.Participant, who = body.Participant, fmt.Sprintf("the approvals of participant %d", body.Participant)
	default:
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.of[from]
	if limiter == nil {
		limiter = rate.NewLimiter(joinRate, joinBurst)
		l.of[from] = limiter
	}
	if !limiter.AllowN(l.now(), 1) {
		return fmt.Errorf("%w: more than %d joins a second of %s", ErrFull, joinRate, who)
	}
	return nil
}
