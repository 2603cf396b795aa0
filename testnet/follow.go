package testnet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/wait"
)

// Round reports a closed round.
type Round struct {
	Type         string   `json:"type"` // "round"
	Epoch        uint64   `json:"epoch"`
	Round        uint64   `json:"round"`
	Height       uint64   `json:"height"`
	View         uint32   `json:"view"`
	Leader       uint32   `json:"leader"`
	Included     int      `json:"included"`
	Missing      []uint32 `json:"missing,omitempty"`    // active participants without a gradient in it
	Late         []uint32 `json:"late,omitempty"`       // of these, those that rounds of this epoch waited for
	TestAccuracy *float64 `json:"test_accuracy"`        // nil where it was not measured
	Unmeasured   string   `json:"unmeasured,omitempty"` // why the net's own trainer did not measure it
	Epsilon      *float64 `json:"epsilon"`
	Tested       int      `json:"test_examples,omitempty"`
	// Measures are what stands beside the accuracy, nil if no counts by class are known.
	Measures *evaluate.Measures `json:"test_measures,omitempty"`
	LGC      *float64           `json:"t_lgc_ms"` // the stages are nil where the node did not see the round whole
	GE       *float64           `json:"t_ge_ms"`
	BC       *float64           `json:"t_bc_ms"`

	// Past reports that the round was closed before this run.
	Past bool `json:"-"`
}

// follower reads rounds from the first node that answers. It asks nodes without an attack first,
// because the stage times of a round are those of the node's own participant.
type follower struct {
	clients []*client.Client
	at      int
	poll    time.Duration
	account account
}

// pollEvery is the shortest pause between two requests. It is short compared with a localnet's round.
const pollEvery = 20 * time.Millisecond

// Follow delivers every closed round from 0 to the last, in order and through all epochs, until the
// chain is done. It queries the first node, and moves to the next node when the current one is
// unreachable. With a nil evaluator no accuracy is measured.
func Follow(ctx context.Context, n *Net, e Evaluator, each func(Round) error) error {
	f, err := newFollower(n)
	if err != nil {
		return err
	}
	var past query.Status
	if n.opened {
		if past, err = f.furthest(ctx); err != nil {
			return err
		}
	}
	return f.follow(ctx, e, params.RoundID{}, func(r Round) error {
		r.Past = r.Epoch < past.Epoch || r.Epoch == past.Epoch && r.Round < past.Round
		return each(r)
	})
}

// FollowOn delivers the rounds of the epochs that members start after the chain is done, until ctx
// ends. The parameter done is the last round that was delivered.
func FollowOn(ctx context.Context, n *Net, e Evaluator, done Round, each func(Round) error) error {
	f, err := newFollower(n)
	if err != nil {
		return err
	}
	for next := (params.RoundID{Epoch: done.Epoch, Round: done.Round + 1}); ctx.Err() == nil; {
		err := f.follow(ctx, e, next, func(r Round) error {
			next = params.RoundID{Epoch: r.Epoch, Round: r.Round + 1}
			return each(r)
		})
		if err != nil {
			return err
		}
		_ = wait.For(ctx, donePoll) // the loop ends with ctx
	}
	return ctx.Err()
}

// donePoll is the pause between two requests to a chain that is done, in case members start an epoch.
const donePoll = time.Second

func newFollower(n *Net) (*follower, error) {
	f := &follower{poll: pollOf(len(n.Genesis.Participants)), account: account{params: n.Genesis.Params}}
	f.account.participants = len(n.Genesis.Participants)
	for _, i := range n.Manifest.HonestFirst() {
		c, err := client.New(n.Nodes[i].RPC)
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// follow delivers every closed round from a given one on until the chain is done.
func (f *follower) follow(ctx context.Context, e Evaluator, from params.RoundID, each func(Round) error) error {
	for epoch, t := from.Epoch, from.Round; ; {
		r, err := retry(ctx, f, func(c *client.Client) (Round, error) { return ask(ctx, c, epoch, t, e, &f.account) })
		if errors.Is(err, errNotClosed) {
			var done bool
			if epoch, t, done, err = f.next(ctx, epoch, t); err != nil || done {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
		f.at = 0 // the next round is asked of the first node again
		t++
	}
}

// pollOf returns the pause between two requests for the open round. With many workers a round lasts
// long, and requests every pollEvery would cost the node a tenth of its time.
func pollOf(participants int) time.Duration {
	return pollEvery + time.Duration(participants)*time.Millisecond/5
}

func (f *follower) status(ctx context.Context) (query.Status, error) {
	return retry(ctx, f, func(c *client.Client) (query.Status, error) { return c.Status(ctx) })
}

// furthest waits until every node answers, and returns the status of the most advanced node. It
// asks all nodes because a node that was down when the net stopped may be behind.
func (f *follower) furthest(ctx context.Context) (most query.Status, err error) {
	for _, c := range f.clients {
		alone := follower{clients: []*client.Client{c}, poll: f.poll}
		s, err := alone.status(ctx)
		if err != nil {
			return most, err
		}
		if s.Epoch > most.Epoch || s.Epoch == most.Epoch && s.Round > most.Round {
			most = s
		}
	}
	return most, nil
}

// next returns the round to request after the requested round was still open. If the epoch has ended, this is the first
// round of the next epoch, otherwise the same round after a pause. The last result reports whether the chain is done.
func (f *follower) next(ctx context.Context, epoch, t uint64) (uint64, uint64, bool, error) {
	s, err := f.status(ctx)
	switch {
	case err != nil:
		return epoch, t, false, err
	case s.Epoch > epoch:
		return epoch + 1, 0, false, nil
	case s.Done && s.Round == t:
		return epoch, t, true, nil
	}
	return epoch, t, false, wait.For(ctx, f.poll)
}

// known returns a stage's time, or nil for 0. A node has no time of a stage if it was restarted, or
// if it saw only a part of the round.
func known(ms float64) *float64 {
	if ms == 0 {
		return nil
	}
	return &ms
}

// errNotClosed means that a round has no record yet.
var errNotClosed = errors.New("round is not closed")

// retry repeats a request until a node answers it. After an internal error it asks the same node again, after a failed
// connection the next node. It returns errNotClosed if the node has no such record.
func retry[T any](ctx context.Context, f *follower, ask func(*client.Client) (T, error)) (T, error) {
	for {
		r, err := ask(f.clients[f.at])
		var refusal *client.Refusal
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return r, ctx.Err()
		case errors.Is(err, client.ErrUnreachable):
			f.at = (f.at + 1) % len(f.clients)
		case errors.As(err, &refusal) && refusal.Code == abci.CodeNotFound:
			return r, fmt.Errorf("%w: %w", errNotClosed, err)
		case !errors.As(err, &refusal) || refusal.Code != abci.CodeInternal:
			return r, err
		}
		if err := wait.For(ctx, f.poll); err != nil {
			return r, err
		}
	}
}

// miss sets the participants whose gradients the round lacks, of a net that began with n participants.
func (r *Round) miss(ctx context.Context, c *client.Client, record app.Record, n int) error {
	if r.Included >= n {
		return nil
	}
	all, err := c.Participants(ctx)
	for _, p := range all {
		of := func(x app.Contribution) bool { return x.Participant == p.Index }
		if !p.Active || slices.ContainsFunc(record.Contributions, of) {
			continue
		}
		r.Missing = append(r.Missing, p.Index)
		if p.Strikes > 0 {
			r.Late = append(r.Late, p.Index)
		}
	}
	return err
}

// ask reads a closed round.
func ask(ctx context.Context, c *client.Client, epoch, t uint64, e Evaluator, a *account) (Round, error) {
	record, err := c.RoundOf(ctx, epoch, t)
	if err != nil {
		return Round{}, err
	}
	r := Round{
		Type: "round", Epoch: record.Epoch, Round: t, Height: record.Height, View: record.View, Leader: record.Leader,
		Included: len(record.Contributions),
	}
	if r.Epsilon, err = a.after(ctx, c, record); err != nil {
		return r, err
	}
	if err := r.miss(ctx, c, record, a.participants); err != nil {
		return r, err
	}
	if timing, err := client.Ask[query.Timing](ctx, c, fmt.Sprintf("/timing/%d/%d", epoch, t)); err == nil {
		r.LGC, r.GE, r.BC = known(timing.LGC), known(timing.GE), known(timing.BC)
	} else if errors.Is(err, client.ErrUnreachable) {
		return r, err
	}
	if e == nil {
		return r, nil
	}
	m, err := c.ModelOf(ctx, epoch, t)
	var refusal *client.Refusal
	// the round is closed, but its model is no longer stored
	if errors.As(err, &refusal) && refusal.Code == abci.CodeNotFound {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	parameters, err := app.DecodeParameters(m.Parameters)
	if err != nil {
		return r, err
	}
	p := a.params
	if epoch > 0 {
		if p, err = c.Params(ctx); err != nil {
			return r, err
		}
	}
	measured, err := e.Evaluate(ctx, p, parameters)
	// of the next round a trainer may say it again
	if ctx.Err() == nil && (home.IsUnmeasurable(err) || errors.Is(err, trainer.ErrTrainer)) {
		r.Unmeasured = err.Error()
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("epoch %d round %d: %w", epoch, t, err)
	}
	r.TestAccuracy, r.Tested, r.Measures = &measured.Accuracy, measured.Examples, evaluate.Judge(measured, p.Model)
	return r, nil
}
