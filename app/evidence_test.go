package app_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// gradientsOf returns two different gradients of a participant for one round.
func gradientsOf(key int, epoch, round uint64, index uint32) (a, b *tx.Tx) {
	g := tx.Gradient{Epoch: epoch, Round: round, Participant: index, Payload: []byte{1}}
	other := g
	other.Payload = []byte{2}
	return apptest.Sign(key, &g), apptest.Sign(key, &other)
}

func aggregatesOf(key int, epoch, round uint64, index, view uint32) (a, b *tx.Tx) {
	first := tx.Aggregate{Epoch: epoch, Round: round, Leader: index, View: view, Digest: make([]byte, 32)}
	second := first
	second.Digest = bytes.Repeat([]byte{1}, 32)
	return apptest.Sign(key, &first), apptest.Sign(key, &second)
}

func evidence(a, b *tx.Tx) *tx.Tx {
	x, err := tx.NewEvidence(a, b)
	if err != nil {
		panic(err)
	}
	return x
}

// equivocation returns evidence of two gradients of a participant in one round.
func equivocation(index uint32, epoch, round uint64) *tx.Tx {
	return evidence(gradientsOf(int(index), epoch, round, index))
}

// TestEvidence: evidence takes the whole reputation and is recorded at once, whatever its sender
// and the kind of the two statements.
func TestEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		x    *tx.Tx
		want app.Offence
	}{
		"gradients":            {equivocation(3, 0, 1), app.Offence{Kind: 1, Round: 1}},
		"gradients of a past":  {equivocation(3, 0, 0), app.Offence{Kind: 1}},
		"aggregates":           {evidence(aggregatesOf(3, 0, 1, 3, 0)), app.Offence{Kind: 2, Round: 1}},
		"aggregates of view 4": {evidence(aggregatesOf(3, 0, 1, 3, 4)), app.Offence{Kind: 2, Round: 1, View: 4}},
		"the same, handed over": {evidence(reversed(aggregatesOf(3, 0, 1, 3, 4))),
			app.Offence{Kind: 2, Round: 1, View: 4}},
		"gradients, VRF proofs differ": {evidence(otherProofs(3)), app.Offence{Kind: 1, Round: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := round(t, apptest.State(5)).State
			x, err := tx.Decode(c.x.Raw)
			require.NoError(t, err)
			require.Empty(t, x.Signature, "anybody may submit it: it names no sender")
			c.want.Participant, c.want.Height, c.want.Evidence = 3, s.Height+1, x.Content[:]
			out := step(t, s, x)
			require.Equal(t, []app.Offence{c.want}, out.State.Offences)
			require.Zero(t, out.State.Participants[3].Reputation)
			require.NotZero(t, s.Participants[3].Reputation)
			require.Equal(t, 5, out.State.Active(), "it stays, and its gradients count")
			require.Empty(t, out.State.Proposals)
			s = out.State
			refused(t, s, app.ErrSettled, x)
			refused(t, s, app.ErrSettled, equivocation(3, 0, 2))
			// The pool admits gradients of the next round, so evidence of them is valid too.
			require.NoError(t, s.Admit(equivocation(2, 0, 2)))
			exactly(t, app.ErrEvidence, s.Admit(equivocation(2, 0, 3)))
			refused(t, s, app.ErrEvidence, equivocation(2, 0, 4))
			require.NoError(t, s.Admit(equivocation(2, 0, 1)))
			// Evidence in the block that closes the round takes the reputation after the reward.
			s = round(t, apptest.State(5)).State
			out = round(t, s, x)
			require.Zero(t, out.State.Participants[3].Reputation)
			require.NotContains(t, out.State.Progress.Ranking, uint32(3))
			require.NotZero(t, out.Record.Contributions[3].Reputation, "the record is the round's")
		})
	}
}

func reversed(a, b *tx.Tx) (*tx.Tx, *tx.Tx) { return b, a }

// otherProofs returns two gradients that differ only in the VRF proof.
func otherProofs(index int) (a, b *tx.Tx) {
	g := tx.Gradient{Round: 1, Participant: uint32(index), Payload: []byte{1}}
	other := g
	other.VrfProof = []byte{1}
	return apptest.Sign(index, &g), apptest.Sign(index, &other)
}

// statement signs a header by the definition of T3 in SPEC.md, without the code under test.
func statement(kind tx.Kind, header []byte, chainID string, key ed25519.PrivateKey) []byte {
	b := []byte("spdl/tx/v1")
	b = binary.BigEndian.AppendUint32(b, uint32(len(chainID)))
	b = append(b, chainID...)
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	content := sha256.Sum256(header)
	digest := sha256.Sum256(append(b, content[:]...))
	return ed25519.Sign(key, digest[:])
}

// marshal encodes a header.
func marshal(m interface{ Marshal() ([]byte, error) }) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// accuse makes evidence of any two headers, signed with the keys of the given numbers.
func accuse(kind tx.Kind, first, second []byte, one, two int) *tx.Tx {
	x, err := tx.Sign("", &tx.Evidence{
		Kind: uint32(kind), First: first, Second: second,
		FirstSignature:  statement(kind, first, apptest.ChainID, apptest.Key(one)),
		SecondSignature: statement(kind, second, apptest.ChainID, apptest.Key(two)),
	}, nil)
	if err != nil {
		panic(err)
	}
	return x
}

// TestEvidenceRules applies E1 to E3.
func TestEvidenceRules(t *testing.T) {
	// Participant 4 has left; 1 is punished; 2 was punished, and is restored in round 3.
	s := round(t, apptest.State(6), leave(4), equivocation(2, 0, 0), equivocation(1, 0, 0)).State
	s = round(t, s).State
	s = round(t, s, approved(restore(0, 2), 1, 3, 5)...).State
	require.EqualValues(t, 3, s.Participants[2].SettledRound)
	header := func(change func(*tx.GradientHeader)) []byte {
		h := tx.GradientHeader{Epoch: 0, Round: 1, Participant: 3, PayloadHash: make([]byte, 32)}
		change(&h)
		return marshal(&h)
	}
	aggregate := func(change func(*tx.AggregateHeader)) []byte {
		h := tx.AggregateHeader{Epoch: 0, Round: 1, Leader: 3, View: 1, ContentHash: make([]byte, 32)}
		change(&h)
		return marshal(&h)
	}
	one, two := header(func(*tx.GradientHeader) {}), header(func(h *tx.GradientHeader) { h.PayloadHash[0] = 1 })
	first, second := aggregate(func(*tx.AggregateHeader) {}),
		aggregate(func(h *tx.AggregateHeader) { h.ContentHash[0] = 1 })
	require.NoError(t, s.Admit(accuse(tx.KindGradient, one, two, 3, 3)))
	require.NoError(t, s.Admit(accuse(tx.KindAggregate, first, second, 3, 3)))
	ordered := func(kind tx.Kind, a, b []byte) *tx.Tx {
		if bytes.Compare(a, b) > 0 {
			a, b = b, a
		}
		return accuse(kind, a, b, 3, 3)
	}
	twice := func(i int) *tx.Tx { return equivocation(uint32(i), 0, 3) }
	for _, c := range []struct {
		name string
		want error
		x    *tx.Tx
	}{
		{"one statement", app.ErrEvidence, accuse(tx.KindGradient, one, one, 3, 3)},
		{"out of order", app.ErrEvidence, accuse(tx.KindGradient, two, one, 3, 3)},
		{"aggregates out of order", app.ErrEvidence, accuse(tx.KindAggregate, second, first, 3, 3)},
		{"other round", app.ErrEvidence, ordered(tx.KindGradient, one, header(func(h *tx.GradientHeader) { h.Round = 2 }))},
		{"other epoch", app.ErrEvidence, ordered(tx.KindGradient, one, header(func(h *tx.GradientHeader) { h.Epoch = 1 }))},
		{"other participant", app.ErrEvidence, ordered(tx.KindGradient, one,
			header(func(h *tx.GradientHeader) { h.Participant = 2 }))},
		{"other leader", app.ErrEvidence, ordered(tx.KindAggregate, first,
			aggregate(func(h *tx.AggregateHeader) { h.Leader = 2 }))},
		{"other view", app.ErrEvidence, ordered(tx.KindAggregate, first,
			aggregate(func(h *tx.AggregateHeader) { h.View = 2 }))},
		{"aggregates of other rounds", app.ErrEvidence, ordered(tx.KindAggregate, first,
			aggregate(func(h *tx.AggregateHeader) { h.Round = 2 }))},
		{"an aggregate beside a gradient", app.ErrEvidence, ordered(tx.KindGradient, one, first)},
		{"a kind that makes no statements", app.ErrEvidence, accuse(tx.KindRemove, one, two, 3, 3)},
		{"no kind", app.ErrEvidence, accuse(0, one, two, 3, 3)},
		{"kind 2^32-1", app.ErrEvidence, accuse(-1, one, two, 3, 3)},
		{"not canonical", app.ErrEvidence, accuse(tx.KindGradient, one, append(bytes.Clone(two), 0x78, 1), 3, 3)},
		{"not a header", app.ErrEvidence, accuse(tx.KindGradient, []byte("one"), []byte("two"), 3, 3)},
		{"nothing", app.ErrEvidence, accuse(tx.KindGradient, nil, nil, 3, 3)},
		{"of one who has left", app.ErrEvidence, equivocation(4, 0, 0)},
		{"of nobody", app.ErrEvidence, equivocation(6, 0, 0)},
		{"of a round to come", app.ErrEvidence, equivocation(3, 0, 6)},
		{"of the last round there could be", app.ErrEvidence, equivocation(3, 0, 1<<64-1)},
		{"of an epoch to come", app.ErrEvidence, equivocation(3, 1, 0)},
		{"aggregates of a round to come", app.ErrEvidence, evidence(aggregatesOf(3, 0, 6, 3, 0))},
		{"of nobody at all", app.ErrEvidence, evidence(gradientsOf(3, 0, 1, 1<<32-1))},

		{"the first is another's", app.ErrEvidenceSigned, accuse(tx.KindGradient, one, two, 2, 3)},
		{"the second is another's", app.ErrEvidenceSigned, accuse(tx.KindGradient, one, two, 3, 2)},
		{"both are another's", app.ErrEvidenceSigned, accuse(tx.KindGradient, one, two, 2, 2)},
		{"signed as aggregates", app.ErrEvidenceSigned, func() *tx.Tx {
			b := *accuse(tx.KindGradient, one, two, 3, 3).Body.(*tx.Evidence)
			b.SecondSignature = statement(tx.KindAggregate, two, apptest.ChainID, apptest.Key(3))
			return apptest.Sign(0, &b)
		}()},
		{"signed on another chain", app.ErrEvidenceSigned, func() *tx.Tx {
			b := *accuse(tx.KindGradient, one, two, 3, 3).Body.(*tx.Evidence)
			b.FirstSignature = statement(tx.KindGradient, one, "other", apptest.Key(3))
			return apptest.Sign(0, &b)
		}()},
		{"signatures exchanged", app.ErrEvidenceSigned, func() *tx.Tx {
			b := *accuse(tx.KindGradient, one, two, 3, 3).Body.(*tx.Evidence)
			b.FirstSignature, b.SecondSignature = b.SecondSignature, b.FirstSignature
			return apptest.Sign(0, &b)
		}()},
		{"a signature missing", app.ErrEvidenceSigned, func() *tx.Tx {
			b := *accuse(tx.KindGradient, one, two, 3, 3).Body.(*tx.Evidence)
			b.SecondSignature = nil
			return apptest.Sign(0, &b)
		}()},

		{"punished already", app.ErrSettled, equivocation(1, 0, 0)},
		{"punished already for another round", app.ErrSettled, twice(1)},
		{"settled by a restore", app.ErrSettled, equivocation(2, 0, 0)},
		{"before a restore", app.ErrSettled, equivocation(2, 0, 2)},
		{"aggregates before a restore", app.ErrSettled, evidence(aggregatesOf(2, 0, 2, 2, 0))},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, s, c.want, c.x) })
	}
	require.NoError(t, s.Admit(twice(2)), "from the restore on it counts again")
	// The envelope carries no signature: T1 and T3.
	_, err := tx.Decode(marshal(&tx.Envelope{Kind: 9, Content: content(t, twice(2)), Signature: make([]byte, 64)}))
	require.ErrorIs(t, err, tx.ErrMalformed)
	// The second evidence against a participant in a block is rejected.
	_, err = s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{twice(3), evidence(aggregatesOf(3, 0, 3, 3, 0))}})
	exactly(t, app.ErrSettled, err)
	require.Len(t, s.Operations([]*tx.Tx{twice(3), evidence(aggregatesOf(3, 0, 3, 3, 0)), twice(5)}, nil, 0), 2)
}

// TestEvidenceWithFormerKeys: each statement may be signed with the current signing key, or with a
// former key that was replaced after the statement's round, so a rotation hides no earlier offence.
func TestEvidenceWithFormerKeys(t *testing.T) {
	s := round(t, apptest.State(4), rotate(3, ring{}, 53, 0, 0)).State
	r := ring{signing: map[uint32]int{3: 53}}
	s = r.round(t, s, rotate(3, r, 63, 0, 0)).State
	require.Len(t, s.Participants[3].FormerKeys, 2)
	at := func(round uint64, one, two int) *tx.Tx {
		header := marshal(&tx.GradientHeader{Round: round, Participant: 3, PayloadHash: make([]byte, 32)})
		other := marshal(&tx.GradientHeader{Round: round, Participant: 3, PayloadHash: bytes.Repeat([]byte{1}, 32)})
		return accuse(tx.KindGradient, header, other, one, two)
	}
	for _, keys := range [][2]int{{3, 3}, {53, 53}, {63, 63}, {3, 63}, {63, 53}, {53, 3}} {
		out := step(t, s, at(0, keys[0], keys[1]))
		require.Zero(t, out.State.Participants[3].Reputation, "%v", keys)
	}
	// Key 3 was in force in round 0, and key 53 in rounds 0 and 1. Key 63 convicts in all rounds.
	for _, keys := range [][3]int{{1, 3, 3}, {1, 3, 63}, {2, 3, 3}, {2, 53, 53}, {2, 63, 53}} {
		exactly(t, app.ErrEvidenceSigned, s.Admit(at(uint64(keys[0]), keys[1], keys[2])))
	}
	require.NoError(t, s.Admit(at(1, 53, 53)))
	require.NoError(t, s.Admit(at(2, 63, 63)))
	exactly(t, app.ErrEvidenceSigned, s.Admit(at(0, 3, 73)))
	exactly(t, app.ErrEvidenceSigned, s.Admit(at(0, 2, 63)))
}

// TestStolenFormerKeyConvictsNobody: a former key proves nothing about rounds after its rotation.
func TestStolenFormerKeyConvictsNobody(t *testing.T) {
	s := round(t, apptest.State(4), rotate(3, ring{}, 53, 53, 0)).State
	r := ring{signing: map[uint32]int{3: 53}, vrf: map[uint32]int{3: 53}}
	for range 5 {
		s = r.round(t, s).State
		r.refused(t, s, app.ErrEvidenceSigned, evidence(gradientsOf(3, 0, s.Progress.Round, 3)))
		r.refused(t, s, app.ErrEvidenceSigned, evidence(aggregatesOf(3, 0, s.Progress.Round, 3, 0)))
	}
}

// TestRotationWaitsInAStalledRound: the keys of a round stay those with which it opened. So a
// gradient that its owner has signed stays valid, and the owner need not sign a second one.
func TestRotationWaitsInAStalledRound(t *testing.T) {
	s := apptest.State(4)
	g := apptest.Gradient(s, 3)
	s = step(t, s, rotate(3, ring{}, 53, 53, 0)).State
	for range 60 {
		s = step(t, s).State
	}
	require.Empty(t, s.Participants[3].FormerKeys)
	require.NoError(t, s.Admit(g))
	s = round(t, s).State
	require.Len(t, s.Participants[3].FormerKeys, 1, "it comes with the round's end")
	// A consensus key occurs in no gradient, so it does not wait.
	r := ring{signing: map[uint32]int{3: 53}, vrf: map[uint32]int{3: 53}}
	s = step(t, s, rotate(3, r, 0, 0, 55)).State
	for range 60 {
		s = step(t, s).State
	}
	require.Equal(t, apptest.ConsensusKey(55), s.Participants[3].ConsensusKey)
}

// TestRestore: only a reputation of 0 can be restored. It becomes the initial reputation, and
// earlier offences are settled. Each later offence counts again.
func TestRestore(t *testing.T) {
	s := apptest.State(5, func(p *params.Params) { p.Reputation.Initial = 700_000 })
	for times := range 3 {
		at := s.Progress.Round
		s = round(t, s, equivocation(2, 0, at)).State
		require.Zero(t, s.Participants[2].Reputation)
		s = round(t, s).State
		require.Zero(t, s.Participants[2].Reputation, "zero is absorbing")
		require.NotContains(t, s.Progress.Ranking, uint32(2))
		exactly(t, app.ErrProposal, s.Admit(restore(0, 1)))
		x := restore(0, 2)
		out := round(t, s, approved(x, 1, 3, 4)...)
		require.Equal(t, []app.Enactment{{Kind: tx.KindRestore, Participant: 2, Proposal: id(x)}}, out.Enacted)
		s = out.State
		require.EqualValues(t, 700_000, s.Participants[2].Reputation)
		require.Equal(t, s.Progress.Round, s.Participants[2].SettledRound)
		require.Equal(t, s.Height, s.Participants[2].SettledHeight)
		require.Len(t, s.Offences, times+1, "an offence stays on file")
		exactly(t, app.ErrSettled, s.Admit(equivocation(2, 0, at)))
		exactly(t, app.ErrProposal, s.Admit(restore(0, 2)))
		require.Contains(t, s.Progress.Ranking, uint32(2), "the round proves its VRF output: it is a contender again")
	}
	// A participant may propose its own restore; it still needs the approvals of others.
	s = round(t, s, equivocation(2, 0, s.Progress.Round)).State
	x := restore(2, 2)
	s = step(t, s, approved(x, 0, 1)...).State
	require.False(t, s.Proposals[0].Accepted)
	s = round(t, s, ring{}.approve(3, x)).State
	require.EqualValues(t, 700_000, s.Participants[2].Reputation)
}

// TestNobodyIsImmune: if a restore does not settle an offence that was punished before, a later
// offence is still punished. The earlier offence is not punished twice.
func TestNobodyIsImmune(t *testing.T) {
	s := apptest.State(4)
	refused(t, s, app.ErrEvidence, equivocation(3, 0, 1<<62))
	early := equivocation(3, 0, 1)
	s = step(t, s, early).State
	s = round(t, s, approved(restore(0, 3), 1, 2)...).State
	require.EqualValues(t, params.One, s.Participants[3].Reputation)
	require.EqualValues(t, 1, s.Participants[3].SettledRound)
	refused(t, s, app.ErrSettled, early)
	for range 2 {
		s = round(t, s).State
	}
	refused(t, s, app.ErrSettled, early)
	s = step(t, s, equivocation(3, 0, 3)).State
	require.Zero(t, s.Participants[3].Reputation)
	refused(t, s, app.ErrSettled, equivocation(3, 0, 2))
}

// TestEquivocatorNeverLeads: an equivocator leads neither in the view of its rank, nor in the view
// that is open to all with a reputation, nor after any election. The exceptions are that no
// participant has a reputation above 0, or that the participants with such a reputation closed no
// round in all their views.
func TestEquivocatorNeverLeads(t *testing.T) {
	for _, term := range []uint64{1, 3} {
		s := apptest.State(4, func(p *params.Params) { p.Election.Term = term })
		guilty := s.Progress.Ranking[0]
		s = step(t, s, equivocation(guilty, 0, 0)).State
		require.Equal(t, guilty, s.Progress.Ranking[0], "no election yet")
		require.Nil(t, ring{}.closes(s, s.Height+1), "its view is lost")
		for range 12 {
			pending := apptest.Gradients(s, 0, 1, 2, 3)
			last := uint32(len(s.Progress.Ranking)) + 1
			opens := apptest.Opens(s, uint64(last))
			for _, height := range []uint64{s.Height + 1, opens - 1} {
				_, err := s.DraftAggregate(height, guilty, pending)
				require.ErrorIs(t, err, app.ErrNotLeader)
			}
			late, err := s.DraftAggregate(opens, guilty, pending)
			require.NoError(t, err)
			require.Equal(t, last, late.View)
			a, err := s.DraftAggregate(s.Height+100, s.Progress.Ranking[len(s.Progress.Ranking)-1], pending)
			require.NoError(t, err)
			for view := range last + 3 {
				a.Leader, a.View = guilty, view
				if view == last {
					require.NoError(t, s.Admit(apptest.Sign(int(guilty), a)))
					continue
				}
				exactly(t, app.ErrNotLeader, s.Admit(apptest.Sign(int(guilty), a)))
			}
			out := round(t, s)
			require.NotEqual(t, guilty, out.Record.Leader)
			require.Len(t, out.Record.Contributions, 4, "it trains on")
			s = out.State
			if s.Progress.Round%term == 0 {
				require.NotContains(t, s.Progress.Ranking, guilty)
			}
		}
	}
}
