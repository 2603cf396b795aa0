package app_test

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// possession proves possession of VRF key number vrf for signing key number pub.
func possession(vrf, pub int) []byte {
	return leader.Prove(apptest.VRFKey(vrf), leader.PossessionInput(apptest.ChainID, apptest.Identity(pub).PubKey))
}

// joinAs returns participant i's Join, changed and signed again.
func joinAs(i int, change func(*tx.Join)) *tx.Tx {
	j := *apptest.Join(i).Body.(*tx.Join)
	before := j.ConsensusProof
	change(&j)
	if bytes.Equal(before, j.ConsensusProof) { // prove the registered key, if it is one of the tests' keys
		j.ConsensusProof = nil
		for k := range 128 {
			if bytes.Equal(j.ConsensusKey, apptest.ConsensusKey(k)) {
				j.ConsensusProof = apptest.ProveConsensusKey(k, j.PubKey)
			}
		}
	}
	return apptest.Sign(i, &j)
}

// rotate replaces the keys of the participant with an index by apptest's keys of the given numbers,
// where 0 means none. It is signed with the present key in the ring.
func rotate(index uint32, r ring, pub, vrf, consensus int) *tx.Tx {
	b := &tx.Rotate{Participant: index, Nonce: tick()}
	bound := r.key(index)
	if pub != 0 {
		bound = pub
		b.PubKey, b.PubKeyProof = apptest.Identity(pub).PubKey, app.ProveRotation(apptest.ChainID, index, apptest.Key(pub))
	}
	if vrf != 0 {
		b.VrfKey, b.VrfProof = apptest.Identity(vrf).VrfKey, possession(vrf, bound)
	}
	if consensus != 0 {
		b.ConsensusKey, b.ConsensusProof = apptest.ConsensusKey(consensus), apptest.ConsensusProof(consensus, bound)
	}
	return r.sign(index, b)
}

// rotateAs returns participant 3's rotation of all keys to number 53's, changed and signed again.
func rotateAs(change func(*tx.Rotate)) *tx.Tx {
	b := *rotate(3, ring{}, 53, 53, 53).Body.(*tx.Rotate)
	change(&b)
	return apptest.Sign(3, &b)
}

// TestJoin follows an outsider into the consortium: request, approvals, boundary, a validator of
// power 10, the next round with the larger N, the ranking after that round, and the lead.
func TestJoin(t *testing.T) {
	s := round(t, apptest.State(4)).State
	join := joinAs(4, func(j *tx.Join) { j.Moniker, j.Address = strings.Repeat("m", 70), strings.Repeat("a", 256) })
	out := step(t, s, join)
	require.Nil(t, out.Record)
	require.Empty(t, out.Enacted)
	require.Equal(t, []app.Proposal{{
		Id: id(join), Kind: uint32(tx.KindJoin), Content: content(t, join), Height: 2,
	}}, out.State.Proposals)
	s = step(t, out.State, ring{}.approve(0, join), ring{}.approve(1, join)).State
	out = round(t, s, ring{}.approve(2, join))
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(4), Power: app.Power}}, out.Validators)
	require.EqualValues(t, 10, app.Power)
	require.Len(t, out.Record.Contributions, 4, "the block that lets it in was the four's")
	s = out.State
	want := app.NewParticipant(4, app.Identity{
		PubKey: apptest.Identity(4).PubKey, VrfKey: apptest.Identity(4).VrfKey, ConsensusKey: apptest.ConsensusKey(4),
		Moniker: strings.Repeat("m", 70), Address: strings.Repeat("a", 256),
	}, s.Params.Reputation)
	want.Joined, want.Contends = 2, 2+16
	require.Equal(t, want, s.Participants[4])
	require.Equal(t, uint64(2), s.Progress.Round)
	require.Equal(t, 5, s.Active())
	require.Equal(t, 1, s.F())
	require.NotContains(t, s.Progress.Ranking, uint32(4), "it has proved no VRF output")

	// A5 and A4 with N = 5: all five gradients suffice at once, N-f = 4 later, three never.
	four := apptest.Gradients(s, 0, 1, 2, 3)
	first := s.Progress.Ranking[0]
	_, err := s.DraftAggregate(s.Height+1, first, four)
	require.ErrorIs(t, err, app.ErrTooFewIncluded)
	require.Nil(t, ring{}.closes(s, s.Height+1, 0, 1, 2, 3))
	late := s.Progress.Opened + s.Params.Election.QuorumBlocks
	require.Len(t, ring{}.closes(s, late, 0, 1, 2, 3), 5)
	a, err := s.DraftAggregate(s.Height+1, first, append(four, apptest.Gradient(s, 4)))
	require.NoError(t, err)
	a.Included = a.Included[:3]
	exactly(t, app.ErrIncluded, s.Admit(apptest.Sign(int(first), a)))
	_, err = s.DraftAggregate(late, 4, append(four, apptest.Gradient(s, 4)))
	require.ErrorIs(t, err, app.ErrNotLeader, "not ranked yet, and the ranks' views are not over")
	out = round(t, s)
	require.Len(t, out.Record.Contributions, 5)
	require.Empty(t, out.Validators)
	s = out.State
	require.Equal(t, uint64(1), s.Participants[4].Participations)
	for range 15 { // its VRF key is new: with a known seed it could have tried many keys
		require.NotContains(t, s.Progress.Ranking, uint32(4))
		s = round(t, s).State
	}
	require.Contains(t, s.Progress.Ranking, uint32(4))
	for s.Progress.Ranking[0] != 4 {
		s = round(t, s).State
	}
	require.Equal(t, uint32(4), round(t, s).Record.Leader)
	require.EqualValues(t, app.Power, 10)
}

// content returns the content of a transaction's envelope.
func content(t *testing.T, x *tx.Tx) []byte {
	data, err := x.Body.Marshal()
	require.NoError(t, err)
	return data
}

// TestWorkerJoins: a participant may join without a consensus key.
func TestWorkerJoins(t *testing.T) {
	s := apptest.State(4)
	worker := joinAs(4, func(j *tx.Join) { j.ConsensusKey = nil })
	another := joinAs(5, func(j *tx.Join) { j.ConsensusKey = nil })
	out := round(t, s, append(approved(worker, 0, 1, 2), approved(another, 0, 1, 2)...)...)
	require.Empty(t, out.Validators)
	s = out.State
	require.Equal(t, 6, s.Active())
	require.Len(t, round(t, s).Record.Contributions, 6)
	out = round(t, s, leave(4))
	require.Empty(t, out.Validators, "it had none")
	refused(t, s, app.ErrIdentity, rotate(5, ring{}, 0, 0, 55)) // a rotation gives it no validator
	require.NoError(t, s.Admit(rotate(5, ring{}, 55, 56, 0)))
}

// TestBlockBytesGrow: block.max_bytes rises if N or the model needs it, and never falls. If the
// chain has no bound, there is none later.
func TestBlockBytesGrow(t *testing.T) {
	g := apptest.Genesis(4, apptest.Params(4, func(p *params.Params) { p.Model.Inputs = 100_000 }))
	four, five := g.Params.BlockBytes(4), g.Params.BlockBytes(5)
	require.Less(t, four, five)
	for _, c := range []struct{ before, want, after int64 }{{four, five, five}, {five, 0, five}, {five + 1, 0, five + 1},
		{-1, 0, -1}} {
		s, err := app.NewState(apptest.ChainID, 1, c.before, g)
		require.NoError(t, err)
		out, err := s.Execute(app.Block{Height: 1, Txs: append(apptest.Close(s, 1), approved(apptest.Join(4), 0, 1, 2)...)})
		require.NoError(t, err)
		require.Equal(t, c.want, out.BlockBytes)
		require.Equal(t, c.after, out.State.Progress.BlockBytes)
		if c.want == 0 {
			continue
		}
		s = out.State
		out, err = s.Execute(app.Block{Height: 2, Txs: append(apptest.Close(s, 2), leave(4))})
		require.NoError(t, err)
		require.Zero(t, out.BlockBytes)
		require.Equal(t, five, out.State.Progress.BlockBytes)
	}
}

// TestJoinRules applies M1, M2 and M4 to a request.
func TestJoinRules(t *testing.T) {
	// 0 to 3 are from genesis; 3 has left, and 2 has the other keys 52, 52, 52.
	s := round(t, apptest.State(5), leave(3), rotate(2, ring{}, 52, 52, 52)).State
	r := ring{map[uint32]int{2: 52}, map[uint32]int{2: 52}}
	waits := apptest.Join(70)
	s = step(t, s, append(approved(waits), approved(apptest.Join(71), 0, 1, 4)...)...).State
	s = step(t, s, rotate(1, ring{}, 61, 61, 61)).State
	require.Equal(t, []bool{false, true, true}, []bool{s.Proposals[0].Accepted, s.Proposals[1].Accepted,
		s.Proposals[2].Accepted})
	order2 := append(bytes.Repeat([]byte{0xff}, 31), 0x7f)
	order2[0] = 0xec
	identity := append([]byte{1}, make([]byte, 31)...)
	// asking returns a Join that registers pub, vrf and consensus keys by number, with all proofs.
	asking := func(pub, vrf, consensus int) *tx.Tx {
		return apptest.Sign(pub, &tx.Join{
			PubKey: apptest.Identity(pub).PubKey, VrfKey: apptest.Identity(vrf).VrfKey, VrfProof: possession(vrf, pub),
			ConsensusKey: apptest.ConsensusKey(consensus), ConsensusProof: apptest.ConsensusProof(consensus, pub),
		})
	}
	for _, c := range []struct {
		name string
		want error
		x    *tx.Tx
	}{
		{"pub_key short", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.PubKey = j.PubKey[:31] })},
		{"pub_key missing", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.PubKey = nil })},
		{"vrf_key short", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfKey = j.VrfKey[:31] })},
		{"vrf_key missing", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfKey = nil })},
		{"pub_key whose signature of everything is known", app.ErrIdentity, reseal(joinAs(9, func(j *tx.Join) {
			j.PubKey = identity
			j.VrfProof = leader.Prove(apptest.VRFKey(9), leader.PossessionInput(apptest.ChainID, identity))
			j.ConsensusKey, j.ConsensusProof = nil, nil
		}), func(e *tx.Envelope) { e.Signature = append(bytes.Clone(identity), make([]byte, 32)...) })},
		{"consensus_key whose signature of everything is known", app.ErrIdentity, joinAs(9, func(j *tx.Join) {
			j.ConsensusKey, j.ConsensusProof = identity, append(bytes.Clone(identity), make([]byte, 32)...)
		})},
		{"vrf_key of small order", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfKey = order2 })},
		{"consensus_proof missing", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.ConsensusProof = []byte{1} })},
		{"vrf_proof missing", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfProof = nil })},
		{"vrf_proof of another key", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfProof = possession(8, 9) })},
		{"vrf_proof for another signing key", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.VrfProof = possession(9, 8) })},
		{"vrf_proof for another chain", app.ErrIdentity, joinAs(9, func(j *tx.Join) {
			j.VrfProof = leader.Prove(apptest.VRFKey(9), leader.PossessionInput("other", j.PubKey))
		})},
		{"vrf_proof of an election", app.ErrIdentity,
			joinAs(9, func(j *tx.Join) { j.VrfProof = leader.Prove(apptest.VRFKey(9), s.VRFInput()) })},
		{"consensus_key short", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.ConsensusKey = j.ConsensusKey[:31] })},
		{"moniker long", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Moniker = strings.Repeat("m", 71) })},
		{"moniker with a line break", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Moniker = "a\nb" })},
		{"moniker not UTF-8", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Moniker = "\xff" })},
		{"moniker that turns the line", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Moniker = "a\u202eb" })},
		{"address long", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Address = strings.Repeat("a", 257) })},
		{"moniker that not every release of Go prints", app.ErrIdentity,
			joinAs(9, func(j *tx.Join) { j.Moniker = "hospital \u088f" })},
		{"moniker that every release prints", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Moniker = "h\u00f4pital" })},
		{"address with an escape", app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.Address = "\x1b[2J" })},

		{"pub_key of a participant", app.ErrKeyTaken, asking(0, 9, 9)},
		{"pub_key of one who has left", app.ErrKeyTaken, asking(3, 9, 9)},
		{"pub_key that one had", app.ErrKeyTaken, asking(2, 9, 9)},
		{"pub_key that one has now", app.ErrKeyTaken, asking(52, 9, 9)},
		{"pub_key in a join that waits", app.ErrKeyTaken, asking(70, 9, 9)},
		{"pub_key in a rotation that waits", app.ErrKeyTaken, asking(61, 9, 9)},
		{"vrf_key of a participant", app.ErrKeyTaken, asking(9, 0, 9)},
		{"vrf_key of one who has left", app.ErrKeyTaken, asking(9, 3, 9)},
		{"vrf_key in a join that waits", app.ErrKeyTaken, asking(9, 70, 9)},
		{"vrf_key in a rotation that waits", app.ErrKeyTaken, asking(9, 61, 9)},
		{"consensus_key of a participant", app.ErrKeyTaken, asking(9, 9, 0)},
		{"consensus_key in a join that is accepted", app.ErrKeyTaken, asking(9, 9, 71)},
		{"consensus_key in a rotation that waits", app.ErrKeyTaken, asking(9, 9, 61)},
		{"the same join", app.ErrKeyTaken, waits},

		{"signed with another key", app.ErrOperationSigned, apptest.Sign(8, apptest.Join(9).Body)},
		{"signed for another chain", app.ErrOperationSigned, func() *tx.Tx {
			x, _ := tx.Sign("other", apptest.Join(9).Body, apptest.Key(9))
			return x
		}()},
		{"signature flipped", app.ErrOperationSigned, reseal(apptest.Join(9), func(e *tx.Envelope) { e.Signature[3] ^= 1 })},
	} {
		t.Run(c.name, func(t *testing.T) { r.refused(t, s, c.want, c.x) })
	}
	for name, x := range map[string]*tx.Tx{
		"all new":                             asking(9, 9, 9),
		"consensus_key of a mere request":     asking(9, 9, 70),
		"consensus_key of one who has left":   asking(9, 9, 3),
		"consensus_key that one had":          asking(9, 9, 2),
		"the longest moniker that is allowed": joinAs(9, func(j *tx.Join) { j.Moniker = strings.Repeat("m", 70) }),
	} {
		require.NoError(t, s.Admit(x), name)
	}
}

// TestSenders applies M3 and M4 to all operations of a participant: an unknown sender, one that has
// left, and one that signs in another's name are rejected.
func TestSenders(t *testing.T) {
	s := round(t, apptest.State(6), leave(5), equivocation(4, 0, 0)).State
	waits := apptest.Join(9)
	s = step(t, s, waits).State
	bodies := map[string]func(by uint32) tx.Body{
		"approve": func(by uint32) tx.Body { return &tx.Approve{Participant: by, Proposal: id(waits)} },
		"rotate":  func(by uint32) tx.Body { return rotate(by, ring{}, 53, 0, 0).Body },
		"restore": func(by uint32) tx.Body { return &tx.Restore{Participant: by, Subject: 4, Nonce: tick()} },
		"remove":  func(by uint32) tx.Body { return &tx.Remove{Participant: by, Subject: 4, Nonce: tick()} },
		"start-epoch": func(by uint32) tx.Body {
			return app.NewStartEpoch(by, tick(), 1, s.Params, true, true)
		},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, name, apptest.Sign(1, body(1)).Kind().String())
			require.NoError(t, s.Admit(apptest.Sign(1, body(1))))
			refused(t, s, app.ErrSender, apptest.Sign(5, body(5)))          // a participant that has left
			refused(t, s, app.ErrSender, apptest.Sign(6, body(6)))          // an index that was never given
			refused(t, s, app.ErrSender, apptest.Sign(6, body(1<<32-1)))    // the largest index
			refused(t, s, app.ErrOperationSigned, apptest.Sign(2, body(1))) // in another participant's name
			refused(t, s, app.ErrOperationSigned, apptest.Sign(9, body(1))) // by an outsider
			refused(t, s, app.ErrOperationSigned, reseal(apptest.Sign(1, body(1)),
				func(e *tx.Envelope) { e.Signature[63] ^= 1 }))
			other, err := tx.Sign("other-chain", body(1), apptest.Key(1))
			require.NoError(t, err)
			refused(t, s, app.ErrOperationSigned, other)
		})
	}
	// M3 on the subject.
	for _, nobody := range []uint32{5, 6, 1<<32 - 1} {
		refused(t, s, app.ErrSender, restore(1, nobody))
		refused(t, s, app.ErrSender, remove(1, nobody))
	}
}

// TestLeave: a departure is accepted at once and takes effect at the boundary. N, f, the validators
// and the ranking then lack the participant, and its transactions are rejected.
func TestLeave(t *testing.T) {
	s := apptest.State(4)
	gone := s.Progress.Ranking[0]
	x := leave(gone)
	s = step(t, s, x).State
	require.True(t, s.Proposals[0].Accepted)
	require.Empty(t, s.Proposals[0].Approvals)
	require.Equal(t, 4, s.Active(), "it closes the round that is open")
	require.Equal(t, 1, s.F())
	out := round(t, s)
	require.Equal(t, gone, out.Record.Leader)
	require.Len(t, out.Record.Contributions, 4)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(int(gone))}}, out.Validators)
	require.Equal(t, []app.Enactment{{Kind: tx.KindRemove, Participant: gone, Proposal: id(x)}}, out.Enacted)
	before := s
	s = out.State
	require.Equal(t, 3, s.Active())
	require.Zero(t, s.F(), "N >= 3f+1 would not hold")
	require.EqualValues(t, 1, s.Params.Rule.Byzantine)
	require.Len(t, s.Progress.Ranking, 3)
	require.NotContains(t, s.Progress.Ranking, gone)
	exactly(t, app.ErrNotParticipant, s.Admit(apptest.Gradient(s, int(gone))))
	_, found := s.Find(apptest.Identity(int(gone)).PubKey)
	require.False(t, found)
	require.Len(t, round(t, s).Record.Contributions, 3)
	// With f = 0 all three are needed, at any height.
	two := active(s)[:2]
	require.Nil(t, ring{}.closes(s, s.Height+100, two...))
	// The earlier state keeps the participant.
	require.True(t, before.Participants[gone].Active)
	require.False(t, s.Participants[gone].Active)
	require.EqualValues(t, 1, s.Participants[gone].Participations)

	// M6: N = 3 is the minimum for multi-krum.
	for _, i := range active(s) {
		refused(t, s, app.ErrInfeasible, leave(i))
		refused(t, s, app.ErrInfeasible, remove(i, (active(s))[0]))
	}
	// A new member replaces the one that left: it has a new index, and N = 4 and f = 1 again.
	by := active(s)
	s = round(t, s, approved(apptest.Join(4), by...)...).State
	require.Equal(t, 1, s.F())
	require.Equal(t, 4, s.Active())
	require.EqualValues(t, 4, s.Participants[4].Index)
	for range 16 {
		require.ElementsMatch(t, by, s.Progress.Ranking)
		s = round(t, s).State
	}
	require.Contains(t, s.Progress.Ranking, uint32(4))
}

// TestLeavesWaiting: M6 counts departures that wait.
func TestLeavesWaiting(t *testing.T) {
	s := apptest.State(5)
	_, err := s.Execute(app.Block{Height: 1, Txs: []*tx.Tx{leave(0), leave(1), leave(2)}})
	exactly(t, app.ErrInfeasible, err)
	require.Len(t, s.Operations([]*tx.Tx{leave(0), leave(1), leave(2)}, nil, 0), 2)
	s = step(t, s, leave(0), leave(1)).State
	refused(t, s, app.ErrInfeasible, leave(2))
	refused(t, s, app.ErrInfeasible, remove(3, 2))
	refused(t, s, app.ErrProposal, remove(3, 0)) // the subject is leaving already
	s = round(t, s).State
	require.Equal(t, []uint32{2, 3, 4}, active(s))
	round(t, s)

	// Accepted removals count as departures that wait; removals that wait for approvals do not.
	x := remove(0, 3)
	s = step(t, apptest.State(4), x, ring{}.approve(1, x)).State
	require.NoError(t, s.Admit(leave(2)))
	s = step(t, s, ring{}.approve(2, x)).State
	refused(t, s, app.ErrInfeasible, leave(2))
	refused(t, s, app.ErrInfeasible, remove(1, 2))
	refused(t, s, app.ErrProposal, leave(3)) // it is leaving already
}

// TestFinishedRanking: in a finished chain the ranking also drops a participant that has left, and
// keeps the order of the members.
func TestFinishedRanking(t *testing.T) {
	s := round(t, apptest.State(4, func(p *params.Params) { p.Training.Rounds = 1 })).State
	want := s.Progress.Ranking
	s = step(t, s, leave(want[1])).State
	require.Equal(t, []uint32{want[0], want[2], want[3]}, s.Progress.Ranking)
}

// TestLastValidator: at least one validator stays.
func TestLastValidator(t *testing.T) {
	g := apptest.Genesis(6, apptest.Params(6))
	for i := 2; i < 6; i++ {
		g.Participants[i].ConsensusKey = nil
	}
	s, err := app.NewState(apptest.ChainID, 1, -1, g)
	require.NoError(t, err)
	refused(t, step(t, s, leave(0)).State, app.ErrInfeasible, leave(1))
	// Both of two validators leave in one round: both removals are accepted, and the second is not
	// enacted.
	a, b := remove(2, 0), remove(3, 1)
	out := round(t, s, slices.Concat([]*tx.Tx{a, b}, approved(a, 1, 3, 4, 5)[1:], approved(b, 0, 2, 4, 5)[1:])...)
	require.NoError(t, out.Enacted[0].Refused)
	exactly(t, app.ErrInfeasible, out.Enacted[1].Refused)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(0)}}, out.Validators)
	s = out.State
	require.Equal(t, []uint32{1, 2, 3, 4, 5}, active(s))
	refused(t, s, app.ErrInfeasible, leave(1))
	refused(t, s, app.ErrInfeasible, remove(2, 1))
	require.NoError(t, s.Admit(leave(2)))
	// The last validator may replace its key, and may leave once there is another one.
	out = round(t, s, append(approved(apptest.Join(6), 1, 2, 3, 4), rotate(1, ring{}, 0, 0, 51))...)
	require.ElementsMatch(t, []app.ValidatorUpdate{
		{ConsensusKey: apptest.ConsensusKey(1)}, {ConsensusKey: apptest.ConsensusKey(51), Power: 10},
		{ConsensusKey: apptest.ConsensusKey(6), Power: 10},
	}, out.Validators)
	require.NoError(t, out.State.Admit(leave(1)))
}

// TestConsensusKeyHandedOn: a participant that joins with the consensus key of a participant that
// leaves at the same boundary takes over its validator. There is no validator update, because
// CometBFT rejects two updates of one key.
func TestConsensusKeyHandedOn(t *testing.T) {
	s := step(t, apptest.State(5), leave(4)).State
	heir := joinAs(5, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(4) })
	refused(t, s, app.ErrKeyTaken, heir) // the key is taken until its holder has left
	s = round(t, s).State
	out := round(t, s, approved(heir, 0, 1, 2)...)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(4), Power: 10}}, out.Validators)
}

// TestRemove: more than two thirds can remove any participant.
func TestRemove(t *testing.T) {
	s := apptest.State(5)
	x := remove(0, 3)
	out := round(t, s, approved(x, 1, 2, 4)...)
	require.Equal(t, []app.Enactment{{Kind: tx.KindRemove, Participant: 3, Proposal: id(x)}}, out.Enacted)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(3)}}, out.Validators)
	require.Equal(t, []uint32{0, 1, 2, 4}, active(out.State))
	require.NotContains(t, out.State.Progress.Ranking, uint32(3))
	s = round(t, out.State).State
	refused(t, s, app.ErrSender, leave(3))
	// A participant's own removal is accepted at once: there is nothing to approve.
	own := remove(2, 2)
	refused(t, step(t, s, own).State, app.ErrProposal, ring{}.approve(0, own))
	out = round(t, s, own)
	require.Equal(t, []uint32{0, 1, 4}, active(out.State))
}

// TestFeasible applies M6 to Joins: the bound of CometBFT's blocks, and the bound on registered
// participants.
func TestFeasible(t *testing.T) {
	wide := apptest.Params(4, func(p *params.Params) { p.Model.Inputs, p.Grid.Width = 1_000_000, 2 })
	n := 4
	for wide.BlockBytes(n+1) <= 104857600 {
		n++
	}
	s := apptest.State(n, func(p *params.Params) { p.Model.Inputs, p.Grid.Width = 1_000_000, 2 })
	exactly(t, app.ErrInfeasible, s.Admit(apptest.Join(n)))
	for i := range s.Participants[n-1:] {
		s.Participants[n-1+i].Active = false
	}
	require.NoError(t, s.Admit(apptest.Join(n)))

	s = apptest.State(4)
	for i := 4; i < 4095; i++ {
		s.Participants = append(s.Participants, app.Participant{Index: uint32(i)})
	}
	require.NoError(t, s.Admit(apptest.Join(5000)))
	s.Participants = append(s.Participants, app.Participant{Index: 4095})
	exactly(t, app.ErrInfeasible, s.Admit(apptest.Join(5000)))
	s.Participants[4].Active = true
	require.NoError(t, s.Admit(leave(3)), "one less is no question of registration")
}

// TestRotate replaces the keys of participant 3, each alone and all together. From the boundary on
// the new keys are in force, and the old keys are not valid.
func TestRotate(t *testing.T) {
	for name, c := range map[string]struct{ pub, vrf, consensus int }{
		"pub_key": {pub: 53}, "vrf_key": {vrf: 53}, "consensus_key": {consensus: 53}, "all": {53, 54, 55},
		"both of the worker": {53, 54, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.State(4)
			x := rotate(3, ring{}, c.pub, c.vrf, c.consensus)
			s = step(t, s, x).State
			require.True(t, s.Proposals[0].Accepted)
			out := round(t, s) // still with the old keys
			require.Equal(t, []app.Enactment{{Kind: tx.KindRotate, Participant: 3, Proposal: id(x)}}, out.Enacted)
			s = out.State
			old, r, p := apptest.Identity(3), ring{map[uint32]int{}, map[uint32]int{}}, s.Participants[3]
			require.Equal(t, app.ParticipantID(old.PubKey), [32]byte(p.Id), "the id stays")
			if c.consensus != 0 {
				require.Equal(t, []app.ValidatorUpdate{
					{ConsensusKey: old.ConsensusKey}, {ConsensusKey: apptest.ConsensusKey(c.consensus), Power: 10},
				}, out.Validators)
				old.ConsensusKey = apptest.ConsensusKey(c.consensus)
			} else {
				require.Empty(t, out.Validators)
			}
			require.Equal(t, old.ConsensusKey, p.ConsensusKey)
			stranger := func(by ring) *tx.Tx { return by.gradient(s, 3) }
			if c.pub != 0 {
				require.Equal(t, []app.FormerKey{{PubKey: old.PubKey, Round: 1}}, p.FormerKeys)
				_, found := s.Find(old.PubKey)
				require.False(t, found)
				exactly(t, app.ErrGradientSigned, s.Admit(stranger(r)))
				r.signing[3] = c.pub
				exactly(t, app.ErrOperationSigned, s.Admit(leave(3)))
				old.PubKey = apptest.Identity(c.pub).PubKey
				index, found := s.Find(old.PubKey)
				require.True(t, found)
				require.EqualValues(t, 3, index.Index)
			} else {
				require.Empty(t, p.FormerKeys)
			}
			require.Equal(t, old.PubKey, p.PubKey)
			if c.vrf != 0 {
				require.Nil(t, p.VrfProof, "the VRF proof of genesis was the old key's")
				exactly(t, app.ErrProof, s.Admit(stranger(r)))
				r.vrf[3] = c.vrf
				old.VrfKey = apptest.Identity(c.vrf).VrfKey
			}
			require.Equal(t, old.VrfKey, p.VrfKey)
			require.NoError(t, s.Admit(stranger(r)))
			require.NoError(t, s.Admit(r.sign(3, &tx.Remove{Participant: 3, Subject: 3, Nonce: tick()})))
			// The participant contends, leads and rotates with the new keys.
			if c.vrf != 0 {
				require.EqualValues(t, 1+16, p.Contends)
				for range 16 {
					require.NotContains(t, s.Progress.Ranking, uint32(3), "a new VRF key contends only when its owner cannot have "+
						"known the seed")
					s = r.round(t, s).State
				}
			} else {
				require.Zero(t, p.Contends)
			}
			for !slices.Equal(s.Progress.Ranking[:1], []uint32{3}) {
				s = r.round(t, s).State
				require.Contains(t, s.Progress.Ranking, uint32(3))
			}
			if c.pub != 0 {
				var pending []*tx.Tx
				for i := range uint32(4) {
					pending = append(pending, r.gradient(s, i))
				}
				a, err := s.DraftAggregate(s.Height+1, 3, pending)
				require.NoError(t, err)
				exactly(t, app.ErrAggregateSigned, s.Admit(apptest.Sign(3, a)))
				require.NoError(t, s.Admit(r.sign(3, a)))
			}
			out = r.round(t, s, rotate(3, r, 63, 64, 65))
			require.EqualValues(t, 3, out.Record.Leader)
			require.Len(t, out.State.Participants[3].FormerKeys, len(p.FormerKeys)+1)
			require.Equal(t, p.Id, out.State.Participants[3].Id)
			require.Equal(t, p.FormerKeys, s.Participants[3].FormerKeys, "of the state before")
		})
	}
}

// TestRotateRules applies M1, M2 and M5 to new keys.
func TestRotateRules(t *testing.T) {
	// 2 has the other keys 52, 52, 52; 4 has left; 1 rotates to 61; 70 asks to join; 71 is
	// accepted.
	s := round(t, apptest.State(6), leave(4), rotate(2, ring{}, 52, 52, 52)).State
	r := ring{map[uint32]int{2: 52}, map[uint32]int{2: 52}}
	s = step(t, s, append(approved(apptest.Join(70)), approved(apptest.Join(71), 0, 1, 3, 5)...)...).State
	s = step(t, s, append(approved(apptest.Join(72), 5), rotate(1, ring{}, 61, 61, 61))...).State
	for _, c := range []struct {
		name string
		want error
		x    *tx.Tx
	}{
		{"nothing", app.ErrIdentity, rotate(3, ring{}, 0, 0, 0)},
		{"pub_key short", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.PubKey = r.PubKey[:31] })},
		{"vrf_key short", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.VrfKey = r.VrfKey[:31] })},
		{"vrf_key the identity", app.ErrIdentity, rotateAs(func(r *tx.Rotate) {
			r.VrfKey = append([]byte{1},
				make([]byte, 31)...)
		})},
		{"consensus_key short", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.ConsensusKey = r.ConsensusKey[:31] })},
		{"pub_key_proof missing", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.PubKeyProof = nil })},
		{"pub_key_proof short", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.PubKeyProof = r.PubKeyProof[:63] })},
		{"pub_key_proof with the old key", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.PubKeyProof = app.ProveRotation(apptest.ChainID, 3, apptest.Key(3)) })},
		{"pub_key_proof for another participant", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.PubKeyProof = app.ProveRotation(apptest.ChainID, 2, apptest.Key(53)) })},
		{"pub_key_proof for another chain", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.PubKeyProof = app.ProveRotation("other", 3, apptest.Key(53)) })},
		{"pub_key_proof without its key", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.PubKey, r.VrfProof = nil, possession(53, 3) })},
		{"vrf_proof without its key", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.VrfKey = nil })},
		{"consensus_proof missing", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.ConsensusProof = nil })},
		{"consensus_key of an applicant, which it cannot prove", app.ErrIdentity, rotateAs(func(r *tx.Rotate) {
			r.ConsensusKey, r.ConsensusProof = apptest.ConsensusKey(70), apptest.ConsensusProof(70, 70)
		})},
		{"consensus_key of a validator that is no participant", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.ConsensusKey = apptest.ConsensusKey(99) })},
		{"consensus_proof without its key", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.ConsensusKey = nil })},
		{"consensus_proof missing", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.ConsensusProof = nil })},
		{"consensus_key of an applicant, which it cannot prove", app.ErrIdentity, rotateAs(func(r *tx.Rotate) {
			r.ConsensusKey, r.ConsensusProof = apptest.ConsensusKey(70), apptest.ConsensusProof(70, 70)
		})},
		{"consensus_key of a validator that is no participant", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.ConsensusKey = apptest.ConsensusKey(99) })},
		{"consensus_proof without its key", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.ConsensusKey = nil })},
		{"vrf_proof missing", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.VrfProof = nil })},
		{"vrf_proof for the old signing key", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.VrfProof = possession(53, 3) })},
		{"vrf_proof of another key", app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.VrfProof = possession(54, 53) })},
		{"vrf_proof for the new signing key, which stays", app.ErrIdentity,
			rotateAs(func(r *tx.Rotate) { r.PubKey, r.PubKeyProof = nil, nil })},

		{"pub_key of its own", app.ErrKeyTaken, rotate(3, ring{}, 3, 0, 0)},
		{"pub_key of another", app.ErrKeyTaken, rotate(3, ring{}, 5, 0, 0)},
		{"pub_key of one who has left", app.ErrKeyTaken, rotate(3, ring{}, 4, 0, 0)},
		{"pub_key that another had", app.ErrKeyTaken, rotate(3, ring{}, 2, 0, 0)},
		{"pub_key that it had", app.ErrKeyTaken, rotate(2, r, 2, 0, 0)},
		{"pub_key in a join that waits", app.ErrKeyTaken, rotate(3, ring{}, 70, 0, 0)},
		{"pub_key in a rotation that waits", app.ErrKeyTaken, rotate(3, ring{}, 61, 0, 0)},
		{"vrf_key of its own", app.ErrKeyTaken, rotate(3, ring{}, 0, 3, 0)},
		{"vrf_key of another", app.ErrKeyTaken, rotate(3, ring{}, 0, 5, 0)},
		{"vrf_key of one who has left", app.ErrKeyTaken, rotate(3, ring{}, 0, 4, 0)},
		{"vrf_key in a join that waits", app.ErrKeyTaken, rotate(3, ring{}, 0, 70, 0)},
		{"vrf_key in a rotation that waits", app.ErrKeyTaken, rotate(3, ring{}, 0, 61, 0)},
		{"consensus_key of another", app.ErrKeyTaken, rotate(3, ring{}, 0, 0, 5)},
		{"consensus_key in a join that is accepted", app.ErrKeyTaken, rotate(3, ring{}, 0, 0, 71)},
		{"consensus_key in a rotation that waits", app.ErrKeyTaken, rotate(3, ring{}, 0, 0, 61)},

		{"a second one", app.ErrProposal, rotate(1, ring{}, 0, 53, 0)},
		{"signed with the new key", app.ErrOperationSigned, apptest.Sign(53, rotate(3, ring{}, 53, 0, 0).Body)},
		{"signed with a former key", app.ErrOperationSigned, rotate(2, ring{}, 53, 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) { r.refused(t, s, c.want, c.x) })
	}
	for name, x := range map[string]*tx.Tx{
		"all":                               rotate(3, ring{}, 53, 53, 53),
		"consensus_key of a mere request":   rotate(3, ring{}, 0, 0, 70),
		"consensus_key of one who has left": rotate(3, ring{}, 0, 0, 4),
		"consensus_key that another had":    rotate(3, ring{}, 0, 0, 2),
		"vrf_key that another had":          rotate(3, ring{}, 0, 2, 0), // a registered key contends later, like any new one
	} {
		require.NoError(t, s.Admit(x), name)
	}
	// The signing key can be replaced at most 64 times, the VRF key any number of times.
	for range 64 {
		s.Participants[3].FormerKeys = append(s.Participants[3].FormerKeys,
			app.FormerKey{PubKey: make([]byte, ed25519.PublicKeySize)})
	}
	r.refused(t, s, app.ErrIdentity, rotate(3, ring{}, 53, 53, 53))
	require.NoError(t, s.Admit(rotate(3, ring{}, 0, 53, 53)))
}

// TestFreshKeysNeverLead: a participant that rotates its VRF key again and again, each time to a
// key that would win with the known seed, never contends.
func TestFreshKeysNeverLead(t *testing.T) {
	s, r := apptest.State(4), ring{vrf: map[uint32]int{}}
	for i := range 36 {
		var others []*tx.Tx
		if i%12 == 0 {
			others = append(others, rotate(3, r, 0, 100+i, 0))
		}
		s = r.round(t, s, others...).State
		if i%12 == 0 {
			r.vrf[3] = 100 + i
		}
		require.NotContains(t, s.Progress.Ranking, uint32(3))
		require.Len(t, s.Progress.Ranking, 3)
	}
	require.EqualValues(t, 25+16, s.Participants[3].Contends)
}
