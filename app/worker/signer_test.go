package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// unreliable is a signer in another process, which a test keeps from answering.
type unreliable struct {
	*worker.Local
	calls    atomic.Int64
	lost     func(call int64) bool // the n-th call is not answered, though it may be served
	gradient func(context.Context, *worker.GradientRequest) (*tx.Tx, error)
}

func (u *unreliable) answered(err error) error {
	if n := u.calls.Add(1); err == nil && u.lost != nil && u.lost(n) {
		return fmt.Errorf("%w: connection reset", worker.ErrSigner)
	}
	return err
}

func (u *unreliable) Keys(ctx context.Context, reload bool) (worker.PublicKeys, error) {
	keys, err := u.Local.Keys(ctx, reload)
	return keys, u.answered(err)
}

func (u *unreliable) Open(ctx context.Context, chainID string, id []byte) (*worker.Record, error) {
	record, err := u.Local.Open(ctx, chainID, id)
	return record, u.answered(err)
}

func (u *unreliable) Gradient(ctx context.Context, r *worker.GradientRequest) (*tx.Tx, error) {
	if u.gradient != nil {
		return u.gradient(ctx, r)
	}
	t, err := u.Local.Gradient(ctx, r)
	return t, u.answered(err)
}

func (u *unreliable) Aggregate(ctx context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error) {
	t, err := u.Local.Aggregate(ctx, chainID, a)
	return t, u.answered(err)
}

func aside(t *testing.T) (worker.Config, *unreliable) {
	conf := config(t)
	u := &unreliable{Local: worker.NewLocal(conf.Keys, nil, conf.Journal)}
	conf.Signer, conf.Keys, conf.Journal = u, worker.Keys{}, ""
	return conf, u
}

// TestAnswersOfTheSignerAreLost: whichever answers of a signer are lost, each round has one gradient,
// and epsilon is spent once for it.
func TestAnswersOfTheSignerAreLost(t *testing.T) {
	for every := int64(2); every <= 7; every++ {
		c := newChain(10)
		conf, u := aside(t)
		u.lost = func(call int64) bool { return call%every == 0 }
		require.NoError(t, worker.Run(within(t), c, conf))
		require.True(t, c.state.Finished())
		rounds := c.gradients()
		require.Len(t, rounds, 10)
		for round, all := range rounds {
			require.Len(t, all, 1, "round %d", round)
		}
		record, err := u.Local.Open(within(t), c.state.ChainID, c.state.Participants[0].Id)
		require.NoError(t, err)
		require.Equal(t, uint64(10), record.Entry.Signed)
		require.NoError(t, u.Close())
	}
}

// TestSignerHangsBeyondTheRound: a signer that signs and does not answer holds the worker no longer
// than the round is open; the worker then reads what was signed, and goes on.
func TestSignerHangsBeyondTheRound(t *testing.T) {
	c := newChain(6)
	conf, u := aside(t)
	u.gradient = func(ctx context.Context, r *worker.GradientRequest) (*tx.Tx, error) {
		signed, err := u.Local.Gradient(ctx, r)
		if err != nil || r.Round != 2 {
			return signed, err
		}
		if err := c.Submit(ctx, signed); err != nil { // and so the round closes
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	require.NoError(t, worker.Run(within(t), c, conf))
	require.True(t, c.state.Finished())
	require.Equal(t, uint64(6), c.state.Participants[0].Participations)
}

// TestForeignMomentum: a momentum that a compromised node left in the journal ends only the worker,
// as a damaged journal does.
func TestForeignMomentum(t *testing.T) {
	c := newChain(4)
	conf, u := aside(t)
	who := c.state.Participants[0]
	_, err := u.Local.Open(within(t), c.state.ChainID, who.Id)
	require.NoError(t, err)
	left := &worker.GradientRequest{Place: worker.Place{ChainID: c.state.ChainID, ID: who.Id}}
	require.NoError(t, json.Unmarshal([]byte(`{"mechanism":{"momentum":"AAAAAAAAAAA=","releases":1}}`), left))
	_, err = u.Local.Gradient(within(t), left)
	require.NoError(t, err)
	require.ErrorIs(t, worker.Run(within(t), c, conf), worker.ErrDamaged)
}

// TestSignerIsAway: a worker whose signer is away signs and computes nothing, says so once, and goes
// on when it is back.
func TestSignerIsAway(t *testing.T) {
	c := newChain(4)
	conf, u := aside(t)
	var away atomic.Bool
	var mu sync.Mutex
	var said []string
	u.lost = func(int64) bool { return away.Load() }
	conf.Log = func(message string, _ ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, message)
	}
	u.gradient = func(ctx context.Context, r *worker.GradientRequest) (*tx.Tx, error) {
		signed, err := u.Local.Gradient(ctx, r)
		if r.Round == 1 {
			away.Store(true)
		}
		return signed, u.answered(err)
	}
	done := make(chan error, 1)
	ctx := within(t)
	go func() { done <- worker.Run(ctx, c, conf) }()
	before := int64(0)
	require.Eventually(t, func() bool { // it asks again and again
		if away.Load() && before == 0 {
			before = u.calls.Load()
		}
		return before > 0 && u.calls.Load() > before+20
	}, time.Minute, time.Millisecond)
	mu.Lock()
	text := strings.Join(said, "\n")
	mu.Unlock()
	require.Equal(t, 1, strings.Count(text, "no gradient, nothing signed and nothing spent"), text)
	require.LessOrEqual(t, strings.Count(text, worker.Computed), 2, text)
	away.Store(false)
	require.NoError(t, <-done)
	require.True(t, c.state.Finished())
}
