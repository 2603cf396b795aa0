package pool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// observed is a pool of four participants on a clock of the test, with commit_reveal. It waits 100 ms
// for stragglers and a second for N-f.
type observed struct {
	*testing.T
	*Pool
	at time.Time
	s  *app.State
}

func newObserved(t *testing.T) *observed {
	o := &observed{T: t, at: time.Unix(1_700_000_000, 0), s: apptest.State(4, apptest.CommitReveal,
		func(p *params.Params) { p.Training.Rounds = 50 })}
	o.Pool = New(o.s, 0, Patience{Straggler: 100 * time.Millisecond, Whole: time.Second}, func() time.Time { return o.at })
	o.round(0, 0, 0, 0) // of which the node has not seen the beginning
	require.Empty(t, o.Snapshot().Observed)
	return o
}

// add adds transactions after a pause in milliseconds.
func (o *observed) add(pause int, txs ...*tx.Tx) {
	o.Helper()
	o.at = o.at.Add(time.Duration(pause) * time.Millisecond)
	for _, x := range txs {
		_, err := o.Add(x)
		require.NoError(o, err)
	}
}

// block executes a block.
func (o *observed) block(txs ...*tx.Tx) {
	o.Helper()
	out, err := o.s.Execute(app.Block{Height: o.s.Height + 1, Txs: txs})
	require.NoError(o, err)
	o.s = out.State
	o.Advance(o.s, out.Record)
}

// commit plays a commit phase in which participant i comes after pauses[i] milliseconds behind i-1.
// A pause of -1 leaves it out.
func (o *observed) commit(pauses ...int) (committed []int) {
	o.Helper()
	var commits []*tx.Tx
	for i, pause := range pauses {
		if pause >= 0 {
			commits, committed = append(commits, apptest.Commit(o.s, i)), append(committed, i)
			o.add(pause, commits[len(commits)-1])
		}
	}
	for o.block(commits...); o.s.Committing(); o.block() {
		o.at = o.at.Add(time.Second) // proposals that wait
	}
	return committed
}

// close closes the round with an aggregate over the gradients of some participants, which reaches this
// node after a pause and is in a block after another one.
func (o *observed) close(pause, proposals int, included ...int) {
	o.Helper()
	for o.s.Height+1 < o.s.Progress.Opened+uint64(proposals) {
		o.block()
	}
	txs := apptest.Close(o.s, o.s.Height+1, included...)
	o.add(pause, txs[0])
	o.block(txs...)
}

// round plays a round in which the gradient of participant i comes after pauses[i] milliseconds.
func (o *observed) round(pauses ...int) {
	o.Helper()
	o.commit(0, 0, 0, 0)
	for i, pause := range pauses {
		o.add(pause, apptest.Gradient(o.s, i))
	}
	o.close(0, 0)
}

// TestObserverOfGradients: a gradient is late that comes more than the wait for stragglers behind N-f
// others, or keeps the others waiting for N-f longer than the wait for a round.
func TestObserverOfGradients(t *testing.T) {
	for name, c := range map[string]struct {
		pauses []int
		late   []uint32
	}{
		"at once":              {[]int{0, 0, 0, 0}, nil},
		"within the wait":      {[]int{0, 50, 40, 90}, nil},
		"behind N-f":           {[]int{0, 0, 0, 110}, []uint32{3}},
		"two share the wait":   {[]int{0, 0, 300, 50}, nil},
		"N-f are kept waiting": {[]int{0, 0, 1100, 0}, []uint32{2, 3}},
	} {
		o := newObserved(t)
		o.round(c.pauses...)
		require.Equal(t, worker.Observed{Late: c.late}, o.Snapshot().Observed, name)
	}
}

// TestObserverOfCommitments: the time of a commitment runs from N-f others, or from the N-2f first ones
// while N-f are not there: a step may take as long as all others take too.
func TestObserverOfCommitments(t *testing.T) {
	for name, c := range map[string]struct {
		pauses []int
		late   []uint32
	}{
		"a long step":     {[]int{60_000, 10, 10, 10}, nil},
		"behind N-f":      {[]int{60_000, 10, 10, 110}, []uint32{3}},
		"needed, in vain": {[]int{0, 0, 1100, -1}, []uint32{2, 3}},
	} {
		o := newObserved(t)
		committed := o.commit(c.pauses...)
		for _, i := range committed {
			o.add(0, apptest.Gradient(o.s, i))
		}
		o.close(0, 0, committed...)
		require.Equal(t, c.late, o.Snapshot().Observed.Late, name)
		require.Empty(t, o.Snapshot().Observed.Failed, name)
	}
}

// TestObserverOfLeaders: a leader failed that has no aggregate in time, or leaves out a gradient that
// was there in time, and not one whose aggregate the proposers hold back, or that lacked a gradient.
func TestObserverOfLeaders(t *testing.T) {
	reveal := func(o *observed, pauses ...int) (lead []uint32) {
		o.commit(0, 0, 0, 0)
		for i, pause := range pauses {
			o.add(pause, apptest.Gradient(o.s, i))
		}
		return o.s.Progress.Ranking[:1]
	}
	o := newObserved(t)
	lead := reveal(o, 0, 0, 0, 0)
	o.close(210, 0)
	require.Equal(t, worker.Observed{Failed: lead}, o.Snapshot().Observed, "no aggregate in time")

	reveal(o, 0, 0, 0, 0)
	a := apptest.Close(o.s, o.s.Height+1)
	o.add(150, a[0])
	o.at = o.at.Add(time.Minute)
	o.block(a...)
	require.Empty(t, o.Snapshot().Observed, "a proposer held the aggregate back")

	lead = reveal(o, 0, 0, 0, 0)
	o.close(150, 2, 0, 1, 2)
	require.Equal(t, worker.Observed{Failed: lead}, o.Snapshot().Observed, "it left out a gradient that was there")

	lead = reveal(o, 0, 0, 0, 0)
	o.add(0, apptest.Close(o.s, o.s.Height+1)[0]) // no proposer takes it
	for o.s.Height+1 < apptest.Opens(o.s, 1) {
		o.at = o.at.Add(250 * time.Millisecond)
		o.block()
	}
	second, err := o.s.DraftAggregate(o.s.Height+1, o.s.Progress.Ranking[1], apptest.Gradients(o.s, 0, 1, 2, 3))
	require.NoError(t, err)
	x := apptest.Sign(int(second.Leader), second)
	o.add(0, x)
	o.block(append([]*tx.Tx{x}, apptest.Gradients(o.s, 0, 1, 2, 3)...)...)
	require.Equal(t, worker.Observed{Failed: lead}, o.Snapshot().Observed, "its view passed")

	reveal(o, 0, 0, 0)
	o.at = o.at.Add(500 * time.Millisecond)
	o.close(0, 2, 0, 1, 2)
	require.Equal(t, worker.Observed{Late: []uint32{3}}, o.Snapshot().Observed, "the gradient was not there")
}
