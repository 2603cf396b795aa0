package app_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// against returns CometBFT's evidence of a type against the validator with consensus key i.
func against(kind uint32, i int, height uint64) app.Misbehavior {
	sum := sha256.Sum256(apptest.ConsensusKey(i))
	return app.Misbehavior{Type: kind, Address: sum[:20], Height: height}
}

// governanceVectors makes a chain of four rounds with evidence of CometBFT and of participants, a
// full list of Joins, proposals whose turns at one boundary change N for each other, an upgrade
// that is planned and cancelled, and a restore that settles earlier offences.
func governanceVectors(t *testing.T) *vectors {
	g := apptest.Genesis(5, apptest.Params(5, func(p *params.Params) {
		p.Training.Rounds, p.Reputation.Unseat = 4, true
	}))
	v, s := newVectors(t, "Evidence, a full list of Joins, an upgrade, and turns at a boundary. Written by "+
		"TestChainVectors.", g)
	step := func(about string, txs ...*tx.Tx) { s = v.step(t, s, about, app.Block{Txs: txs}) }
	closes := func(operations ...*tx.Tx) []*tx.Tx { return append(apptest.Close(s, s.Height+1), operations...) }
	step("no transactions")

	s = v.step(t, s, "round 0; participant 1 voted twice: a type that is none, one that convicts it, and one too many",
		app.Block{
			Txs: closes(), Misbehavior: []app.Misbehavior{against(0, 1, 1), against(1, 1, 1), against(2, 1, 2)},
		})
	require.Empty(t, s.Participants[1].ConsensusKey, "unseated")
	step("two gradients of participant 3 for round 1", evidenceOfTwo(t, s, 3))
	rotate := &tx.Rotate{
		Participant: 2, Nonce: 1, ConsensusKey: apptest.ConsensusKey(12), ConsensusProof: apptest.ProveConsensusKey(12,
			s.Participants[2].PubKey),
	}
	step("round 1; participant 2 replaces its consensus key", closes(apptest.Sign(2, rotate))...)
	s = v.step(t, s, "an attack by participant 2's former validator",
		app.Block{Misbehavior: []app.Misbehavior{against(2, 2, 3)}})
	for i := 100; i < 164; i += 2 {
		step("two strangers ask to join", apptest.Join(i), apptest.Join(i+1))
	}

	oldest := s.Proposals[0].Id
	leave := apptest.Sign(4, &tx.Remove{Participant: 4, Subject: 4, Nonce: 1})
	upgrade := apptest.Sign(0, &tx.Upgrade{Participant: 0, Nonce: 1, Name: "next", Height: s.Height + 40, Version: 1000})
	join := apptest.Join(5)
	id := join.ID()
	carried := apptest.Sign(0, &tx.Approve{Participant: 0, Proposal: id[:], Join: join.Raw})
	restore := apptest.Sign(0, &tx.Restore{Participant: 0, Subject: 1, Nonce: 2})
	// With N = 5 three approvals are too few. The upgrade has its turn after 4 has left, and the
	// restore has its turn after 5 has joined.
	step("round 2; participant 4 leaves, an upgrade has 3 approvals, the Join that an Approve carries has 4, a "+
		"restore has 3", closes(
		leave, upgrade, apptest.Approve(1, upgrade), apptest.Approve(2, upgrade),
		carried, apptest.Approve(1, join), apptest.Approve(2, join), apptest.Approve(3, join),
		restore, apptest.Approve(1, restore), apptest.Approve(2, restore))...)
	require.Len(t, s.Progress.Upgrades, 1)
	require.Len(t, s.Participants, 6)
	require.Len(t, s.Proposals, 65, "the restore waits, and no stranger's Join went")
	step("one more stranger asks to join: the oldest of 64 goes", apptest.Join(164))
	require.Len(t, s.Proposals, 65)
	require.NotEqual(t, oldest, s.Proposals[0].Id)

	cancel := apptest.Sign(1, &tx.Upgrade{Participant: 1, Nonce: 1, Name: "next"})
	step("round 3, the last; the restore has 4 approvals, and the upgrade is cancelled", closes(
		apptest.Approve(5, restore),
		cancel, apptest.Approve(0, cancel), apptest.Approve(2, cancel), apptest.Approve(5, cancel))...)
	require.Empty(t, s.Progress.Upgrades)
	require.NotZero(t, s.Participants[1].SettledHeight)
	s = v.step(t, s, "evidence of before the restore is passed over",
		app.Block{Misbehavior: []app.Misbehavior{against(1, 1, 2)}})
	require.Len(t, s.Offences, 3)
	withdrawalVectors(t, v, s)
	return v
}

// withdrawalVectors appends blocks with withdrawals: of an approval that is given again, and of all
// approvals of a removal and of a Join that waits again.
func withdrawalVectors(t *testing.T, v *vectors, s *app.State) {
	step := func(about string, txs ...*tx.Tx) { s = v.step(t, s, about, app.Block{Txs: txs}) }
	back := func(i uint32, proposal *tx.Tx, revocations uint64) *tx.Tx {
		return apptest.Sign(int(i), &tx.Withdraw{Participant: i, Proposal: id(proposal), Revocations: revocations})
	}
	removal, join := apptest.Sign(0, &tx.Remove{Participant: 0, Subject: 3, Nonce: 9}), apptest.Join(6)
	step("a removal with 2 approvals, a Join with 1", removal, apptest.Approve(2, removal), join, apptest.Approve(5, join))
	step("participant 2 withdraws from the removal", back(2, removal, 0))
	step("and approves it again; the others withdraw: the Join is gone, and waits again in the same block",
		apptest.Sign(2, &tx.Approve{Participant: 2, Proposal: id(removal), Revocations: 1}),
		back(0, removal, 0), back(5, join, 0), join)
	step("the last approval of the removal is withdrawn", back(2, removal, 1))
	waits := func(x *tx.Tx) bool {
		return slices.ContainsFunc(s.Proposals, func(p app.Proposal) bool { return bytes.Equal(p.Id, id(x)) })
	}
	require.False(t, waits(removal))
	require.True(t, waits(join))
	require.EqualValues(t, 2, s.Participants[2].Revocations)
}

// evidenceOfTwo returns the evidence that a participant signed two gradients for the open round.
func evidenceOfTwo(t *testing.T, s *app.State, i int) *tx.Tx {
	first := apptest.Gradient(s, i)
	second := *first.Gradient
	second.Payload = append([]byte(nil), second.Payload...)
	second.Payload[0] ^= 1
	e, err := tx.NewEvidence(first, apptest.Sign(i, &second))
	require.NoError(t, err)
	return e
}
