package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// committing returns a chain of n participants with commit_reveal whose round is in the commit
// phase.
func committing(n int) *app.State {
	return apptest.State(n, apptest.CommitReveal, apptest.Budgeted(20))
}

// next executes the block of the next height.
func next(t *testing.T, s *app.State, txs ...*tx.Tx) *app.Outcome {
	t.Helper()
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
	require.NoError(t, err)
	again, err := app.DecodeState(out.State.Height, out.State.Encode())
	require.NoError(t, err)
	require.Equal(t, out.State.Hash(), again.Hash())
	require.Equal(t, out.State.Progress, again.Progress)
	return out
}

// revealing returns a chain whose open round takes the gradients of the given participants.
func revealing(t *testing.T, n int, committed ...int) *app.State {
	s := next(t, committing(n), apptest.Commits(committing(n), committed...)...).State
	for s.Committing() {
		s = next(t, s).State
	}
	return s
}

// TestCommitReveal: a round takes the commitments of all participants at one height and their
// gradients at the next, and leaves no commitment behind.
func TestCommitReveal(t *testing.T) {
	s := committing(4)
	require.Equal(t, 4, s.MissingRequired(nil))
	out := next(t, s, apptest.Commits(s, 0, 2)...)
	require.False(t, out.Revealing)
	require.Equal(t, []uint32{0, 2}, out.Committed)
	require.Equal(t, 2, out.State.MissingRequired(nil))
	out = next(t, out.State, apptest.Commits(s, 1, 3)...)
	require.True(t, out.Revealing)
	s = out.State
	require.Equal(t, s.Height+1, s.Progress.Opened)
	require.Equal(t, 4, s.MissingRequired(nil))
	out = next(t, s, apptest.Close(s, s.Height+1)...)
	require.NotNil(t, out.Record)
	require.Equal(t, s.Progress.Opened, out.Record.Opened)
	require.Empty(t, out.Record.Withheld)
	require.True(t, out.State.Committing())
	require.Empty(t, out.State.Progress.Commitments)
	require.EqualValues(t, 1, out.State.Progress.Round)
}

// TestCommitPhase: with N-f commitments, and not with fewer, the phase ends after quorum_blocks
// heights, even if these are empty.
func TestCommitPhase(t *testing.T) {
	s := next(t, committing(4), apptest.Commits(committing(4), 0, 1, 2)...).State // at height opened
	s = next(t, s).State
	require.True(t, s.Committing())
	out := next(t, s)
	require.True(t, out.Revealing && out.Changed)
	require.EqualValues(t, 2, out.State.Height-s.Progress.Opened)

	s = next(t, committing(4), apptest.Commits(committing(4), 0, 1)...).State
	for range 9 {
		s = next(t, s).State
		require.True(t, s.Committing())
	}
	s = next(t, s, apptest.Commit(s, 3)).State
	for range 2 {
		require.True(t, s.Committing(), "the others have quorum_blocks heights from N-f on")
		s = next(t, s).State
	}
	require.False(t, s.Committing())
}

// TestCommitsRefused: blocks that break C1 to C6, and transactions that do not belong in the phase,
// are rejected.
func TestCommitsRefused(t *testing.T) {
	s, open := committing(4), revealing(t, 4, 0, 1, 2, 3)
	body := func(i int, mutate func(*tx.Commit)) *tx.Tx {
		c := *apptest.Commit(s, i).Commit
		mutate(&c)
		return apptest.Sign(i, &c)
	}
	forged := apptest.Sign(1, apptest.Commit(s, 0).Commit)
	for _, c := range []struct {
		name string
		s    *app.State
		want error
		txs  []*tx.Tx
	}{
		{"without commit_reveal", apptest.State(4), app.ErrCommitPhase, apptest.Commits(apptest.State(4), 0)},
		{"another epoch", s, app.ErrCommit, []*tx.Tx{body(0, func(c *tx.Commit) { c.Epoch = 1 })}},
		{"the next round", s, app.ErrCommit, []*tx.Tx{body(0, func(c *tx.Commit) { c.Round = 1 })}},
		{"no hash", s, app.ErrCommitHash, []*tx.Tx{body(0, func(c *tx.Commit) { c.Hash = c.Hash[1:] })}},
		{"no participant", s, app.ErrCommitSender, []*tx.Tx{body(0, func(c *tx.Commit) { c.Participant = 7 })}},
		{"another's", s, app.ErrCommitSigned, []*tx.Tx{forged}},
		{"not in order", s, app.ErrCommits, apptest.Commits(s, 1, 0)},
		{"twice", s, app.ErrCommits, apptest.Commits(s, 1, 1)},
		{"taken already", next(t, s, apptest.Commit(s, 1)).State, app.ErrCommits, apptest.Commits(s, 1)},
		{"after the phase", revealing(t, 4, 0, 1, 2), app.ErrCommitPhase, apptest.Commits(s, 3)},
		{"behind an operation", s, app.ErrOrder, append([]*tx.Tx{apptest.Join(4)}, apptest.Commit(s, 0))},
		{"behind a round", open, app.ErrCommitPhase, append(apptest.Close(open, open.Height+1), apptest.Commit(open, 0))},
		{"a round before its commitments", s, app.ErrUnrevealed, closing(open)},
	} {
		_, err := c.s.Execute(app.Block{Height: c.s.Height + 1, Txs: c.txs})
		require.ErrorIs(t, err, c.want, c.name)
	}
}

func closing(s *app.State) []*tx.Tx { return apptest.Close(s, s.Height+1) }

// TestCommitmentBinds: the pool and a block reject a gradient other than the committed one, even if
// its sender signed it, and a gradient without a commitment.
func TestCommitmentBinds(t *testing.T) {
	s := revealing(t, 4, 0, 1, 2)
	other := *apptest.Gradient(s, 1).Gradient
	other.Payload = append([]byte{other.Payload[0] ^ 1}, other.Payload[1:]...)
	require.NoError(t, s.Admit(apptest.Gradient(s, 1)))
	require.ErrorIs(t, s.Admit(apptest.Sign(1, &other)), app.ErrNotCommitted)
	require.ErrorIs(t, s.Admit(apptest.Gradient(s, 3)), app.ErrNotCommitted)

	txs := apptest.Close(s, s.Height+1, 0, 1, 2)
	for _, c := range []struct {
		name string
		with *tx.Tx
	}{{"another gradient", apptest.Sign(1, &other)}, {"no commitment", apptest.Gradient(s, 3)}} {
		a := *txs[0].Aggregate
		a.Included = append([]tx.Included(nil), a.Included...)
		i := min(int(c.with.Gradient.Participant), 2)
		a.Included[i] = tx.Included{Participant: c.with.Gradient.Participant, Hash: c.with.Content[:]}
		block := append([]*tx.Tx{apptest.Sign(int(a.Leader), &a)}, txs[1:]...)
		block[1+i] = c.with
		_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: block})
		require.ErrorIs(t, err, app.ErrUnrevealed, c.name)
	}
	// A peer that is a block ahead has revealed its gradient: the pool keeps it.
	require.NoError(t, committing(4).Admit(apptest.Gradient(s, 3)))
}

// TestWithheld: a round waits quorum_blocks heights for a committed gradient. A participant that
// withholds it keeps its reputation, and pays as if the gradient had been included.
func TestWithheld(t *testing.T) {
	s := revealing(t, 4, 0, 1, 2, 3)
	require.Equal(t, 1, s.MissingRequired([]uint32{0, 1, 2}))
	_, err := s.DraftAggregate(s.Height+1, s.Progress.Ranking[0], apptest.Gradients(s, 0, 1, 2))
	require.ErrorIs(t, err, app.ErrTooFewIncluded)
	s = next(t, next(t, s).State).State
	out := next(t, s, apptest.Close(s, s.Height+1, 0, 1, 2)...)
	require.Equal(t, []uint32{3}, out.Record.Withheld)
	before, p := s.Participants[3], out.State.Participants[3]
	require.Equal(t, out.State.Participants[0].Spent, p.Spent)
	require.Equal(t, []any{before.Participations, before.Releases, before.Reputation}, []any{p.Participations, p.Releases,
		p.Reputation})
	require.Equal(t, before.Strikes, p.Strikes, "only observations convict it")
}

// TestUncommitted: a round does not wait for a participant without a commitment, and that
// participant pays nothing.
func TestUncommitted(t *testing.T) {
	s := revealing(t, 4, 0, 1, 2)
	require.False(t, s.Required(3))
	out := next(t, s, apptest.Close(s, s.Height+1, 0, 1, 2)...)
	require.Empty(t, out.Record.Withheld)
	require.Empty(t, out.State.Participants[3].Spent)
}

// TestLateCommit: a reveal phase takes commitments of participants that missed the commit phase from
// its quorum height on. They do not count in the election, and do not spare a strike.
func TestLateCommit(t *testing.T) {
	s := revealing(t, 4, 0, 1, 2)
	e := s.Params.Election
	for s.Height+1 < s.Progress.Opened+e.QuorumBlocks {
		_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Commits(s, 3)})
		require.ErrorIs(t, err, app.ErrCommitPhase)
		require.Empty(t, s.Commits(s.Height+1, apptest.Commits(s, 3), 0))
		s = next(t, s).State
	}
	stolen := *apptest.Commit(s, 3).Commit
	stolen.VrfProof = apptest.Commit(s, 0).Commit.VrfProof
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{apptest.Sign(3, &stolen)}})
	require.ErrorIs(t, err, app.ErrCommitProof, "it is verified though nobody's election hangs on it")
	opened := s.Progress.Opened
	s = next(t, s, s.Commits(s.Height+1, apptest.Commits(s, 3), 0)...).State
	require.Equal(t, opened, s.Progress.Opened)
	require.True(t, s.Required(3))
	out := next(t, s, apptest.Close(s, s.Height+1, 0, 1, 3)...)
	require.Equal(t, []uint32{2}, out.Record.Withheld)
	require.Empty(t, out.Record.Contributions[2].VrfOutput)
	require.NotContains(t, out.State.Progress.Ranking, uint32(3))
	require.Contains(t, out.State.Progress.Ranking, uint32(2), "it is not the leader that decides who contends")
	require.EqualValues(t, 1, out.State.Participants[3].Strikes)
}

// TestCommitWithoutBudget: a participant without budget left cannot commit itself.
func TestCommitWithoutBudget(t *testing.T) {
	s := apptest.State(4, apptest.CommitReveal, apptest.Budgeted(1))
	s = next(t, s, apptest.Commits(s, 0, 1, 2)...).State
	s = next(t, next(t, s).State).State
	s = next(t, s, apptest.Close(s, s.Height+1, 0, 1, 2)...).State
	require.True(t, s.Finished()) // one of four has budget left
	require.ErrorIs(t, s.Admit(apptest.Commit(s, 3)), app.ErrFinished)
}

// TestCommitEvidence: two commitments for one place take the whole reputation, before the round
// closes and after it.
func TestCommitEvidence(t *testing.T) {
	s := revealing(t, 4, 0, 1, 2, 3)
	first := apptest.Commit(s, 1)
	second := *first.Commit
	second.Hash = first.Hash[:]
	require.NoError(t, s.Admit(apptest.Sign(1, &second)), "the pool needs it for the proof")
	proof, err := tx.NewEvidence(first, apptest.Sign(1, &second))
	require.NoError(t, err)
	out := next(t, s, append(closing(s), proof)...)
	require.Zero(t, out.State.Participants[1].Reputation)
	require.EqualValues(t, tx.KindCommit, out.State.Offences[0].Kind)
	_, err = tx.NewEvidence(first, first)
	require.ErrorIs(t, err, tx.ErrNoConflict)
}
