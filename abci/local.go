package abci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Draft returns the aggregate that the participant may sign now. A leader with all required
// gradients signs at once; a leader that could close the round without some of them first waits
// StragglerWait for the rest.
func (a *Application) Draft(participant uint32) (*tx.Aggregate, error) {
	return a.draft(participant, a.pool.Load().look())
}

func (a *Application) draft(participant uint32, v snapshot) (*tx.Aggregate, error) {
	start := a.options.Now()
	draft, err := a.drafts.lead(v, participant, func() { a.options.Metrics.Aggregated(a.options.Now().Sub(start)) })
	if err != nil {
		return nil, err
	}
	if v.holds(draft) {
		return nil, fmt.Errorf("%w: the aggregate of view %d is in the pool", app.ErrNotClosing, draft.View)
	}
	if rest := a.options.StragglerWait - a.options.Now().Sub(v.grown); !v.whole() && rest > 0 {
		return nil, fmt.Errorf("%w: %v more for stragglers", app.ErrNotClosing, rest.Round(time.Millisecond))
	}
	return draft, nil
}

// Local returns the chain for the worker in this process.
func (a *Application) Local() worker.Chain { return local{a} }

type local struct{ a *Application }

// Await waits for a committed state with a task other than last.
func (l local) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	select {
	case <-l.a.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		v := l.a.pool.Load().look()
		s := v.state
		if Moved(s, last) {
			return NewTask(s, pub)
		}
		select {
		case <-v.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Moved reports whether a state's task for a participant differs from the last: another round is
// open, or it is in another phase for the participant.
func Moved(s *app.State, last *worker.Task) bool {
	return last == nil || last.Epoch != s.Progress.Epoch || last.Round != s.Progress.Round || last.Phase != phaseOf(s, last.Participant.Index)
}

// phaseOf returns a participant's phase of the open round.
func phaseOf(s *app.State, participant uint32) worker.Phase {
	switch {
	case !s.Params.Election.CommitReveal || s.Finished():
		return worker.Reveal
	case s.Progress.Revealing && s.Commitment(participant) != nil:
		return worker.Reveal
	case s.TakesCommits(s.Height + 1):
		return worker.Commit
	}
	return worker.Missed
}

// NewTask returns the task of the open round for the participant with the key.
func NewTask(s *app.State, pub []byte) (*worker.Task, error) {
	p, ok := s.Find(pub)
	if !ok {
		return nil, fmt.Errorf("%w: %X", worker.ErrNotParticipant, pub)
	}
	return &worker.Task{
		ChainID: s.ChainID, Epoch: s.Progress.Epoch, Round: s.Progress.Round, Finished: s.Finished(), Seed: s.Progress.Seed,
		Params: s.Params, Participant: p, Active: s.Active(), Unawaited: !s.Awaits(p.Index),
		Overdue: s.Overdue(s.Height + 1), Phase: phaseOf(s, p.Index), Model: s.Model,
	}, nil
}

// Lead waits for a draft. It tries again whenever the pool changes, and after StragglerWait.
func (l local) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		changed := l.a.pool.Load().look().changed
		draft, err := l.a.Draft(participant)
		if err == nil {
			return draft, nil
		}
		var again <-chan time.Time
		if errors.Is(err, app.ErrNotClosing) {
			again = time.After(l.a.options.StragglerWait)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Submit gives the transaction to this node's mempool.
func (l local) Submit(ctx context.Context, t *tx.Tx) error {
	send := l.a.broadcast.Load()
	if send == nil {
		return errors.New("the node is not running yet")
	}
	return (*send)(ctx, t.Raw)
}

// Pending returns the transactions in this node's pool, those of the open round and
// the operations, and the number of that round.
func (a *Application) Pending() (raws [][]byte, round uint64) {
	p := a.pool.Load()
	if p == nil {
		return nil, 0
	}
	v := p.look()
	for _, t := range slices.Concat(v.pending, v.operations) {
		raws = append(raws, t.Raw)
	}
	return raws, v.state.Progress.Round
}

// Held returns the pending transaction of a hash, nil if there is none.
func (a *Application) Held(hash [32]byte) *tx.Tx {
	if p := a.pool.Load(); p != nil {
		return p.find(hash)
	}
	return nil
}

// AllHeld returns all transactions in this node's pool, including those of the next round.
func (a *Application) AllHeld() []*tx.Tx {
	if p := a.pool.Load(); p != nil {
		return p.all()
	}
	return nil
}

// Verdict turns CheckTx's answer into a worker's error: a rejection is final.
func Verdict(code uint32, log string) error {
	if code == CodeOK {
		return nil
	}
	return fmt.Errorf("%w: %s (code %d)", worker.ErrRefused, log, code)
}
