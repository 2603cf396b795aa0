package abci_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// decide finalizes and commits the node's own proposal.
func (n *node) decide(height int64) [][]byte {
	n.t.Helper()
	proposed := n.prepare(height)
	require.True(n.t, n.process(height, proposed))
	n.finalize(height, proposed)
	n.commit()
	return proposed
}

// TestProposedCommitments: a proposer with all commitments proposes them at once. Otherwise it
// waits, and then proposes the commitments that have arrived.
func TestProposedCommitments(t *testing.T) {
	n := begin(t, 4, apptest.CommitReveal)
	for _, c := range apptest.Commits(n.State(), 0, 1, 2) {
		require.Equal(t, abci.CodeOK, n.check(c).Code)
	}
	start := time.Now()
	require.Len(t, n.decide(1), 3)
	require.GreaterOrEqual(t, time.Since(start), 10*time.Millisecond, "the straggler's time")
	require.True(t, n.State().Committing())
	require.Equal(t, abci.CodeOK, n.check(apptest.Commit(n.State(), 3)).Code)
	require.Len(t, n.decide(2), 1, "what is taken is not proposed again")
	require.False(t, n.State().Committing())
}

// TestRevealedEarly: a node that is one block behind keeps the gradients of faster peers, and drops
// gradients without a commitment.
func TestRevealedEarly(t *testing.T) {
	n := begin(t, 4, apptest.CommitReveal)
	s := n.State()
	other := *apptest.Gradient(s, 1).Gradient
	other.Payload = append([]byte{other.Payload[0] ^ 1}, other.Payload[1:]...)
	early := append(apptest.Gradients(s, 0), apptest.Sign(1, &other))
	for _, g := range early {
		require.Equal(t, abci.CodeOK, n.check(g).Code)
	}
	for _, c := range apptest.Commits(s, 0, 1, 2, 3) {
		require.Equal(t, abci.CodeOK, n.check(c).Code)
	}
	n.decide(1)
	require.NotNil(t, n.PoolTx(early[0].Hash))
	require.Nil(t, n.PoolTx(early[1].Hash))
	require.Equal(t, abci.CodeCommit, n.check(early[1]).Code)
	require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(s, 1)).Code)
}

// TestCommittedTwice: a second commitment is reported while its round is open, even if the first is
// already in a block. So is a second gradient, even without a commitment to it.
func TestCommittedTwice(t *testing.T) {
	n := begin(t, 4, apptest.CommitReveal)
	var reported []*tx.Tx
	n.host.report = func(raw []byte) {
		proof, err := tx.Decode(raw)
		require.NoError(t, err)
		reported = append(reported, proof)
	}
	s := n.State()
	for _, c := range apptest.Commits(s, 0, 1, 2, 3) {
		require.Equal(t, abci.CodeOK, n.check(c).Code)
	}
	n.decide(1)
	body := *apptest.Commit(s, 2).Commit
	body.Hash = append([]byte{body.Hash[0] ^ 1}, body.Hash[1:]...)
	require.Equal(t, abci.CodeOccupied, n.check(apptest.Sign(2, &body)).Code)
	require.Len(t, reported, 1)
	require.Equal(t, abci.CodeOccupied, n.check(apptest.Sign(3, &body)).Code)
	require.Len(t, reported, 1, "another's signature")

	require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(s, 1)).Code)
	other := *apptest.Gradient(s, 1).Gradient
	other.Payload = append([]byte{other.Payload[0] ^ 1}, other.Payload[1:]...)
	require.Equal(t, abci.CodeOccupied, n.check(apptest.Sign(1, &other)).Code)
	require.Len(t, reported, 2)
	require.Equal(t, abci.CodeOK, n.check(reported[0]).Code)
}

// TestPhases: the worker learns the phase of its round.
func TestPhases(t *testing.T) {
	n := begin(t, 4, apptest.CommitReveal)
	task := func(i int) worker.Phase {
		task, err := n.Local().Await(ctx, apptest.Identity(i).PubKey, nil)
		require.NoError(t, err)
		require.Equal(t, 0, int(task.Round))
		return task.Phase
	}
	for _, c := range apptest.Commits(n.State(), 0, 1, 2) {
		require.Equal(t, abci.CodeOK, n.check(c).Code)
	}
	require.Equal(t, worker.Commit, task(0))
	last, err := n.Local().Await(ctx, apptest.Identity(0).PubKey, nil)
	require.NoError(t, err)
	for height := int64(1); n.State().Committing(); height++ {
		n.decide(height)
	}
	now, err := n.Local().Await(ctx, apptest.Identity(0).PubKey, last)
	require.NoError(t, err)
	require.Equal(t, worker.Reveal, now.Phase)
	require.Equal(t, worker.Missed, task(3))
	for height := int64(n.State().Height) + 1; !n.State().TakesCommits(uint64(height)); height++ {
		n.decide(height)
	}
	require.Equal(t, worker.Commit, task(3))
	require.Equal(t, worker.Reveal, task(1))
}
