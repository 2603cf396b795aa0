package worker_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// chain is a chain of one worker without a network: it executes submitted transactions and can fail
// on purpose.
type chain struct {
	mu        sync.Mutex
	state     *app.State
	pending   []*tx.Tx
	submitted []*tx.Tx
	changed   chan struct{}
	hold      bool              // keep gradients out of the chain
	fail      func(n int) error // fails the n-th submission
}

func newChain(rounds uint64) *chain {
	s := apptest.State(1, func(p *params.Params) {
		p.Rule.Name, p.TestChain = "mean", true
		p.Training.Rounds = rounds
	})
	return &chain{state: s, changed: make(chan struct{})}
}

func (c *chain) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *chain) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	for {
		c.mu.Lock()
		s, changed := c.state, c.changed
		c.mu.Unlock()
		p, ok := s.Find(pub)
		if !ok {
			return nil, worker.ErrNotParticipant
		}
		if last == nil || last.Round != s.Progress.Round {
			return &worker.Task{ChainID: s.ChainID, Round: s.Progress.Round, Finished: s.Finished(), Seed: s.Progress.Seed,
				Params: s.Params, Participant: p, Model: s.Model}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *chain) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		c.mu.Lock()
		draft, err := c.state.DraftAggregate(c.state.Height+1, participant, c.pending)
		changed := c.changed
		c.mu.Unlock()
		if err == nil {
			return draft, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *chain) Submit(_ context.Context, t *tx.Tx) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.submitted = append(c.submitted, t)
	if c.fail != nil {
		if err := c.fail(len(c.submitted)); err != nil {
			return err
		}
	}
	if err := c.state.Admit(t); err != nil {
		return errors.Join(worker.ErrRejected, err)
	}
	if c.hold {
		return nil
	}
	c.pending = append(c.pending, t)
	if txs := c.state.Assemble(c.state.Height+1, c.pending, 0); txs != nil {
		out, err := c.state.Execute(app.Block{Height: c.state.Height + 1, Txs: txs})
		if err != nil {
			return err
		}
		c.state, c.pending = out.State, nil
	}
	c.notify()
	return nil
}

// tiny is a set of 16 examples of 3 pixels in 2 classes.
func tiny(context.Context, worker.Task) (mnist.Features, error) {
	set := mnist.Set{Rows: 1, Cols: 3}
	for i := range 16 {
		set.Images = append(set.Images, byte(40*(i%2)), byte(200-40*(i%2)), byte(i))
		set.Labels = append(set.Labels, byte(i%2))
	}
	return worker.Shard(set, apptest.Indices(16), params.Model{Inputs: 3, Classes: 2, Pool: 1, PixelScale: 255},
		inputs.Keep{})
}

func config(t *testing.T) worker.Config {
	journal := filepath.Join(t.TempDir(), "journal.json")
	require.NoError(t, worker.NewJournal(journal)) // as in a new home
	return worker.Config{
		Keys: worker.Keys{Signing: apptest.Key(0), VRF: apptest.VRFKey(0)}, Journal: journal, Data: tiny,
		Source: privacy.NewTestSource(1), Retry: 5 * time.Millisecond,
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// runUntil runs a worker until a condition holds, and stops it.
func runUntil(t *testing.T, c worker.Chain, conf worker.Config, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c, conf) }()
	require.Eventually(t, holds, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// runUntilSaid runs a worker until it logs a text, and for a moment more.
func runUntilSaid(t *testing.T, c worker.Chain, conf worker.Config, something string) {
	t.Helper()
	var said atomic.Bool
	conf.Log = func(message string, _ ...any) {
		if strings.Contains(message, something) {
			said.Store(true)
		}
	}
	runUntil(t, c, conf, func() bool {
		holds := said.Load()
		if holds {
			time.Sleep(50 * time.Millisecond)
		}
		return holds
	})
}

// gradients returns the distinct gradients submitted, by round.
func (c *chain) gradients() map[uint64]map[[32]byte]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[uint64]map[[32]byte]bool{}
	for _, t := range c.submitted {
		if g := t.Gradient; g != nil {
			if out[g.Round] == nil {
				out[g.Round] = map[[32]byte]bool{}
			}
			out[g.Round][t.Hash] = true
		}
	}
	return out
}

func TestRunToTheEnd(t *testing.T) {
	c := newChain(10)
	require.NoError(t, worker.Run(within(t), c, config(t)))
	require.True(t, c.state.Finished())
	require.Len(t, c.gradients(), 10)
}

// TestStepDelay: a step takes the configured time, and a worker that is stopped during it signs
// nothing.
func TestStepDelay(t *testing.T) {
	c, conf := newChain(3), config(t)
	conf.StepDelay = 30 * time.Millisecond
	begun := time.Now()
	require.NoError(t, worker.Run(within(t), c, conf))
	require.GreaterOrEqual(t, time.Since(begun), 3*conf.StepDelay)

	c, conf = newChain(3), config(t)
	conf.StepDelay = time.Hour
	ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, worker.Run(ctx, c, conf), context.DeadlineExceeded)
	require.Empty(t, c.gradients())
}

// TestTheLossIsLoggedOnlyIfAskedFor: by default no value that is computed from the examples without
// noise leaves the worker.
func TestTheLossIsLoggedOnlyIfAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		c, conf := newChain(3), config(t)
		var mu sync.Mutex
		var said string
		conf.LogLoss, conf.Log = asked, func(message string, keyvals ...any) {
			mu.Lock()
			defer mu.Unlock()
			said += fmt.Sprintln(append([]any{message}, keyvals...)...)
		}
		require.NoError(t, worker.Run(within(t), c, conf))
		require.Contains(t, said, "gradient computed")
		require.Equal(t, asked, strings.Contains(said, "loss"), said)
	}
}

// TestOneGradientARound: however often the worker is stopped and restarted, each round has one
// gradient, sent again byte for byte. A worker that was stopped between two rounds has no entry for
// the open round, and takes part once that round is overdue. A round of one participant is always
// overdue.
func TestOneGradientARound(t *testing.T) {
	c := newChain(12)
	c.fail = func(n int) error {
		if n%3 == 0 {
			return errors.New("connection reset")
		}
		return nil
	}
	overdue := new(atomic.Bool)
	overdue.Store(true)
	conf, whole := config(t), within(t)
	for try := 0; !c.state.Finished(); try++ {
		require.NoError(t, whole.Err(), "round %d is still open after %d starts", c.state.Progress.Round, try)
		// The time grows until it is long enough on any machine.
		ctx, cancel := context.WithTimeout(whole, time.Duration(5+try)*time.Millisecond)
		conf.Source = privacy.NewTestSource(uint64(try)) // a second gradient would have other noise
		err := worker.Run(ctx, late{c, overdue}, conf)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	for round, hashes := range c.gradients() {
		require.Len(t, hashes, 1, "round %d", round)
	}
}

// TestResend: a gradient that the chain lost is sent again while its round
// stays open.
func TestResend(t *testing.T) {
	c := newChain(1)
	c.hold = true
	ctx := within(t)
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c, config(t)) }()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.submitted) > 2
	}, time.Minute, time.Millisecond)
	c.mu.Lock()
	c.hold = false
	c.mu.Unlock()
	require.NoError(t, <-done)
	require.Len(t, c.gradients()[0], 1)
}

// TestJournalBelongs: a journal of another chain or key, or a journal that is ahead of the chain,
// is never overwritten.
func TestJournalBelongs(t *testing.T) {
	conf := config(t)
	require.NoError(t, worker.Run(within(t), newChain(3), conf))
	_, err := worker.OpenJournal(conf.Journal, "another-chain", apptest.Genesis(1, apptest.Params(1)).Participants[0].Id)
	require.ErrorIs(t, err, worker.ErrJournal)
	_, err = worker.OpenJournal(conf.Journal, apptest.ChainID, make([]byte, 32))
	require.ErrorIs(t, err, worker.ErrJournal)
	// The chain starts over and the journal stands at round 2: the worker waits.
	behind := newChain(3)
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, worker.Run(ctx, behind, conf), context.DeadlineExceeded)
	require.Empty(t, behind.gradients())
	require.NoError(t, os.WriteFile(conf.Journal, []byte("{"), 0o600))
	_, err = worker.OpenJournal(conf.Journal, apptest.ChainID, nil)
	require.Error(t, err)
}

// spender is a chain that has already counted a number of gradients.
type spender struct {
	*chain
	counted uint64
}

func (c spender) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := c.chain.Await(ctx, pub, last)
	if err != nil {
		return nil, err
	}
	p := &task.Params.Privacy
	p.Epsilon, p.Delta = 2, 1e-6
	p.Cost, p.Budget = make([]uint64, params.LedgerColumns), make([]uint64, params.LedgerColumns)
	for i := range p.Cost {
		p.Cost[i], p.Budget[i] = 10, 50
	}
	task.Participant.Spent = make([]uint64, params.LedgerColumns)
	for i := range task.Participant.Spent {
		task.Participant.Spent[i] = 10 * c.counted
	}
	return task, nil
}

// TestBudgetIsSpent: a worker whose budget is spent stops and logs that. Its own journal counts its
// sent gradients, whatever the chain counts.
func TestBudgetIsSpent(t *testing.T) {
	for counted, sends := range map[uint64]int{0: 5, 3: 2, 5: 0, 9: 0} {
		c := spender{newChain(10), counted}
		conf := config(t)
		var said []string
		conf.Log = func(message string, _ ...any) { said = append(said, message) }
		require.NoError(t, worker.Run(within(t), c, conf))
		require.Len(t, c.gradients(), sends, "%d of 5 are counted", counted)
		require.Contains(t, said[len(said)-1], "privacy budget is spent: epsilon 2 at delta 1e-06")
		require.Contains(t, said[len(said)-1], "sends no more")
	}
}

// older is a chain that counts more releases than the worker's journal.
type older struct{ *chain }

func (c older) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := c.chain.Await(ctx, pub, last)
	if err == nil {
		task.Params.Privacy.NoiseFloor = true
		task.Participant.Releases = 7
	}
	return task, err
}

// TestLostJournal: noise replaces a lost momentum.
func TestLostJournal(t *testing.T) {
	c := older{newChain(4)}
	conf := config(t)
	var said []string
	conf.Log = func(message string, _ ...any) { said = append(said, message) }
	require.NoError(t, worker.Run(within(t), c, conf))
	require.Len(t, c.gradients(), 4)
	require.Contains(t, said[0], "momentum is lost")
}

// TestLostJournalConvictsNobody: a worker without a journal signs neither a gradient nor an
// aggregate for the open round, because the chain may already have its gradient. It logs that, and
// takes part again in the next round.
func TestLostJournalConvictsNobody(t *testing.T) {
	c := newChain(9)
	conf := config(t)
	signed := func() (n int, round uint64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		round = c.state.Progress.Round
		for _, x := range c.submitted {
			if x.Gradient != nil && x.Gradient.Round == round || x.Aggregate != nil && x.Aggregate.Round == round {
				n++
			}
		}
		return n, round
	}
	c.fail = func(int) error { // from round 3 on the chain takes nothing
		if c.state.Progress.Round >= 3 {
			return errors.New("connection reset")
		}
		return nil
	}
	runUntil(t, c, conf, func() bool { n, round := signed(); return round == 3 && n > 0 })
	require.NoError(t, os.Remove(conf.Journal)) // the host is restored without its data
	before, _ := signed()
	conf.Source = privacy.NewTestSource(2) // other noise, as from the operating system
	runUntilSaid(t, c, conf, "sits the open round out")
	after, _ := signed()
	require.Equal(t, before, after)
	require.NoFileExists(t, conf.Journal)

	c.mu.Lock()
	c.fail = nil
	c.mu.Unlock()
	require.NoError(t, os.WriteFile(conf.Journal, []byte("{}\n"), 0o600), "who knows that nothing is signed says so")
	require.NoError(t, worker.Run(within(t), c, conf))
	require.True(t, c.state.Finished())
}

// TestFirstStart: the worker of a new home takes part in the open round, at whatever height it
// starts.
func TestFirstStart(t *testing.T) {
	c := newChain(1)
	c.state.Height = 500
	require.NoError(t, worker.Run(within(t), c, config(t)))
	require.Len(t, c.gradients(), 1)
}

// TestLostJournalBeforeTheFirstGradientCounts: the chain counts no gradient of the participant yet,
// and a gradient is signed for the open round. Without its journal, or with an older journal, the
// worker signs no second gradient.
func TestLostJournalBeforeTheFirstGradientCounts(t *testing.T) {
	c := newChain(3)
	c.hold = true // the round stays open
	conf := config(t)
	runUntil(t, c, conf, func() bool { return len(c.gradients()[0]) == 1 })
	require.NoError(t, os.Remove(conf.Journal)) // the host is restored without its data
	conf.Source = privacy.NewTestSource(2)      // other noise, as from the operating system
	runUntilSaid(t, c, conf, "sits the open round out")
	require.Len(t, c.gradients()[0], 1, "gradients signed for round 0")
}

// TestOldJournalConvictsNobody: a copy of the journal of a new home, or of earlier rounds, does not
// show what was signed for the open round, and the worker signs nothing.
func TestOldJournalConvictsNobody(t *testing.T) {
	c := newChain(9)
	conf := config(t)
	fresh, err := os.ReadFile(conf.Journal)
	require.NoError(t, err)
	until := func(round uint64) {
		c.fail = func(int) error {
			if c.state.Progress.Round >= round {
				return errors.New("connection reset")
			}
			return nil
		}
		runUntil(t, c, conf, func() bool {
			signed := len(c.gradients()[round]) > 0
			if signed {
				time.Sleep(50 * time.Millisecond) // time in which it could sign something else
			}
			return signed
		})
		require.Equal(t, round, c.state.Progress.Round)
	}
	until(2)
	old, err := os.ReadFile(conf.Journal)
	require.NoError(t, err)
	until(5)
	require.Len(t, c.gradients()[5], 1)
	for i, copied := range [][]byte{fresh, old} {
		require.NoError(t, os.WriteFile(conf.Journal, copied, 0o600))
		conf.Source = privacy.NewTestSource(uint64(2 + i))
		until(5)
		require.Len(t, c.gradients()[5], 1, "gradients signed for round 5")
	}
}

// TestDamagedJournal: the error about an unreadable journal names the file and the remedy.
func TestDamagedJournal(t *testing.T) {
	conf := config(t)
	require.NoError(t, worker.Run(within(t), newChain(2), conf))
	good, err := os.ReadFile(conf.Journal)
	require.NoError(t, err)
	first := bytes.IndexByte(good, '\n')
	no := []byte(`{"chain_id":"` + apptest.ChainID + `","participant_id":"` +
		base64.StdEncoding.EncodeToString(apptest.Genesis(1, apptest.Params(1)).Participants[0].Id) +
		`","gradient":{"epoch":0,"round":1,"raw":"AAAA"}}`)
	for _, content := range []string{"", "{", string(good[:first]), "[]", strings.Replace(string(good), `"raw":"`,
		`"raw":"AAAA`, 1), string(no)} {
		require.NoError(t, os.WriteFile(conf.Journal, []byte(content), 0o600))
		c := newChain(2)
		c.hold = true
		if content == string(no) { // a readable file with an invalid gradient
			c = newChain(3)
			c.state.Progress.Round = 1
		}
		ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
		err = worker.Run(ctx, c, conf)
		cancel()
		require.ErrorIs(t, err, worker.ErrDamaged, content)
		require.ErrorContains(t, err, conf.Journal)
		require.ErrorContains(t, err, "move the file away")
	}
}

func TestNotAParticipant(t *testing.T) {
	conf := config(t)
	conf.Keys.Signing = apptest.Key(5)
	ctx, cancel := context.WithTimeout(within(t), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, worker.Run(ctx, newChain(1), conf), context.DeadlineExceeded, "it may join yet")
}

func TestTrainerRefuses(t *testing.T) {
	p := apptest.Params(4)
	data, err := tiny(context.Background(), worker.Task{})
	require.NoError(t, err)
	_, err = worker.NewTrainer(p, mnist.Features{Inputs: 3}, privacy.NewTestSource(1))
	require.ErrorContains(t, err, "0 examples")
	p.Privacy.SamplingRate, p.Privacy.Batch = 0, 17
	_, err = worker.NewTrainer(p, data, privacy.NewTestSource(1))
	require.ErrorContains(t, err, "fixed batch takes 17")
	const many = privacy.MaxRows/2 + 1
	p.Privacy.SamplingRate = 1
	_, err = worker.NewTrainer(p, mnist.Features{X: make([]float32, 3*many), Labels: make([]uint8, many), Inputs: 3},
		privacy.NewTestSource(1))
	require.ErrorContains(t, err, "batches of about 524289")
	_, err = worker.Shard(mnist.Set{Images: make([]byte, 4), Labels: []byte{0}, Rows: 2, Cols: 2}, []int{0},
		params.Model{Inputs: 3, Classes: 2, Pool: 1, PixelScale: 255}, inputs.Keep{})
	require.ErrorContains(t, err, "4 inputs")
}
