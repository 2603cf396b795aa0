package query

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Rejection counts the gradients of a participant in a round that this node rejected for one
// reason. It is an observation of this node: another node may not have seen these gradients, and
// the chain records only that the round has no gradient of the participant.
type Rejection struct {
	Epoch       uint64 `json:"epoch"`
	Round       uint64 `json:"round"`
	Participant uint32 `json:"participant"`
	Reason      string `json:"reason"` // the name of the result code: norm, budget, payload, proof or signature
	Log         string `json:"log"`    // the error text for the first gradient, or for the first signed gradient
	Count       uint64 `json:"count"`
	// Signed is true if the participant signed one of the gradients. Anybody may have sent unsigned
	// gradients in the participant's name.
	Signed bool `json:"signed"`
	// If Reason is "norm", Norm is the norm of the gradient that Log reports, and MinNorm and
	// MaxNorm are the bounds for clipped gradients with noise. All three are in grid steps.
	Norm    float64 `json:"norm,omitempty"`
	MinNorm float64 `json:"min_norm,omitempty"`
	MaxNorm float64 `json:"max_norm,omitempty"`
}

// describe sets the error text and, for an error about norms, the norms.
func (r *Rejection) describe(err error) {
	r.Log = TruncateLog(err.Error())
	var norm *app.NormError
	if errors.As(err, &norm) {
		r.Norm, r.MinNorm, r.MaxNorm = root(norm.Norm), root(norm.Min), root(norm.Max)
	}
}

func root(squared int64) float64 { return math.Sqrt(float64(squared)) }

// These are the max numbers of remembered rounds, and of rejections in all these rounds.
const maxRounds, maxRejections = 256, 4096

// contentErrors are the errors for which the sender of a gradient is responsible. Most other rejections are a matter of
// timing: a closed round, a filled slot, a full pool, a commitment that came too late.
var contentErrors = []error{app.ErrPayload, app.ErrNorm, app.ErrBudget, app.ErrProof, tx.ErrSignature}

// ByContent reports whether an error rejects a gradient because of its content.
func ByContent(t *tx.Tx, err error) bool {
	return t.Gradient != nil && slices.ContainsFunc(contentErrors, func(x error) bool { return errors.Is(err, x) })
}

type rejectionKey struct {
	participant uint32
	reason      string
}

// Rejections counts the gradients that admission rejected. It does not affect the state.
type Rejections struct {
	mu      sync.Mutex
	byRound map[params.RoundID]map[rejectionKey]*Rejection
	rounds  []params.RoundID // the keys of byRound, in the order of their first rejections
	size    int              // the number of rejections in byRound
}

func NewRejections() *Rejections {
	return &Rejections{byRound: map[params.RoundID]map[rejectionKey]*Rejection{}}
}

// Add counts a gradient that was rejected for its content, under the name of the result code. It ignores gradients that
// are not for the open round or not in the name of a member, so that outsiders cannot fill the memory.
func (r *Rejections) Add(s *app.State, t *tx.Tx, reason string, err error) {
	g := t.Gradient
	if !ByContent(t, err) || g.Epoch != s.Progress.Epoch || g.Round != s.Progress.Round {
		return
	}
	i := slices.IndexFunc(s.Participants, func(p app.Participant) bool { return p.Index == g.Participant && p.Active })
	if i < 0 {
		return
	}
	x, signed := r.count(params.RoundID{Epoch: g.Epoch, Round: g.Round}, rejectionKey{g.Participant, reason}, err)
	if !errors.Is(err, tx.ErrSignature) && !signed && t.Verify(s.ChainID, s.Participants[i].PubKey) == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !x.Signed {
			x.Signed = true
			x.describe(err) // anybody may have sent the earlier gradients, which are not signed
		}
	}
}

// count adds one to the Count of a rejection, and returns the rejection and its Signed.
func (r *Rejections) count(at params.RoundID, key rejectionKey, err error) (x *Rejection, signed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRound[at] == nil {
		r.byRound[at] = map[rejectionKey]*Rejection{}
		r.rounds = append(r.rounds, at)
	}
	if x = r.byRound[at][key]; x == nil {
		x = &Rejection{Epoch: at.Epoch, Round: at.Round, Participant: key.participant, Reason: key.reason}
		x.describe(err)
		r.byRound[at][key] = x
		r.size++
	}
	x.Count++
	for len(r.rounds) > maxRounds || r.size > maxRejections && len(r.rounds) > 1 {
		r.size -= len(r.byRound[r.rounds[0]])
		delete(r.byRound, r.rounds[0])
		r.rounds = r.rounds[1:]
	}
	return x, x.Signed
}

// list returns the remembered rejections of the given round, or of all rounds if round is nil. They
// are ordered by round, participant and reason.
func (r *Rejections) list(round *params.RoundID) []Rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Rejection{}
	for at, by := range r.byRound {
		if round != nil && at != *round {
			continue
		}
		for _, x := range by {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Round, b.Round), cmp.Compare(a.Participant, b.Participant),
			strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// queryRefusals returns the remembered rejections of the round that arg names, or of all rounds if arg is empty.
func (q *Queries) queryRefusals(s *app.State, arg string) (any, error) {
	if arg == "" {
		return q.Rejections.list(nil), nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	return q.Rejections.list(&params.RoundID{Epoch: epoch, Round: t}), nil
}
