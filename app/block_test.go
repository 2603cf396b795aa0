package app_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// block is a valid block, and the data that a mutator needs to spoil it.
type block struct {
	s      *app.State
	height uint64
	txs    []*tx.Tx
	leader int
}

func valid(t *testing.T, s *app.State) *block {
	t.Helper()
	height := s.Height + 1
	b := &block{s: s, height: height, txs: apptest.Close(s, height)}
	b.leader = int(b.txs[0].Aggregate.Leader)
	_, err := s.Execute(app.Block{Height: height, Txs: b.txs})
	require.NoError(t, err, "the block to spoil must be valid")
	return b
}

// aggregate changes the aggregate and signs it again as its leader.
func (b *block) aggregate(change func(*tx.Aggregate)) {
	a := *b.txs[0].Aggregate
	a.Included = append([]tx.Included(nil), a.Included...)
	a.Digest = append([]byte(nil), a.Digest...)
	change(&a)
	b.txs[0] = apptest.Sign(b.leader, &a)
}

// gradient changes the i-th gradient, signs it again as its sender, and updates the aggregate's
// list and digest, so that the block breaks only the rule under test.
func (b *block) gradient(i int, change func(*tx.Gradient)) {
	g := *b.txs[i+1].Gradient
	signer := int(g.Participant)
	g.Payload = append([]byte(nil), g.Payload...)
	change(&g)
	b.txs[i+1] = apptest.Sign(signer, &g)
	b.relist()
}

// proof changes the i-th gradient's VRF proof.
func (b *block) proof(i int, change func(pi []byte)) {
	b.gradient(i, func(g *tx.Gradient) {
		g.VrfProof = append([]byte(nil), g.VrfProof...)
		change(g.VrfProof)
	})
}

// relist updates the aggregate's list to the block's present gradients.
func (b *block) relist() {
	b.aggregate(func(a *tx.Aggregate) {
		a.Included = nil
		for _, t := range b.txs[1:] {
			if t.Gradient != nil {
				a.Included = append(a.Included, tx.Included{Participant: t.Gradient.Participant, Hash: t.Content[:]})
			}
		}
	})
}

// stale returns a gradient of the round before the open round, with a valid signature for that
// round.
func (b *block) stale(i int) *tx.Tx {
	g := *b.txs[i+1].Gradient
	g.Round--
	return apptest.Sign(int(g.Participant), &g)
}

// TestMutators spoils a valid block in one way each. Every validator must reject it and name the
// rule.
func TestMutators(t *testing.T) {
	// A chain in its third round, so that there is an old round to replay.
	s := apptest.State(4)
	for range 2 {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1)})
		require.NoError(t, err)
		s = out.State
	}
	old := apptest.Close(apptest.State(4), 1)
	mutators := []struct {
		name   string
		want   error
		mutate func(b *block)
	}{
		{"height skipped", app.ErrHeight, func(b *block) { b.height++ }},
		{"height repeated", app.ErrHeight, func(b *block) { b.height-- }},
		{"aggregate missing", app.ErrOrder, func(b *block) { b.txs = b.txs[1:] }},
		{"aggregate last", app.ErrOrder, func(b *block) { b.txs = append(b.txs[1:], b.txs[0]) }},
		{"aggregate twice", app.ErrOrder, func(b *block) { b.txs = append(b.txs, b.txs[0]) }},
		{"aggregate instead of a gradient", app.ErrOrder, func(b *block) { b.txs[2] = b.txs[0] }},
		{"aggregate alone", app.ErrMismatch, func(b *block) { b.txs = b.txs[:1] }},
		{"gradient dropped", app.ErrMismatch, func(b *block) { b.txs = b.txs[:4] }},
		{"gradient dropped and unlisted, before the quorum", app.ErrTooFewIncluded,
			func(b *block) { b.txs = b.txs[:4]; b.relist() }},
		{"gradients below N-f", app.ErrIncluded, func(b *block) { b.txs = b.txs[:3]; b.relist() }},
		{"gradients reordered", app.ErrMismatch, func(b *block) { b.txs[1], b.txs[2] = b.txs[2], b.txs[1] }},
		{"gradients reordered and relisted", app.ErrIncluded, func(b *block) {
			b.txs[1], b.txs[2] = b.txs[2],
				b.txs[1]
			b.relist()
		}},
		{"gradient twice", app.ErrMismatch, func(b *block) { b.txs[2] = b.txs[1] }},
		{"gradient twice and relisted", app.ErrIncluded, func(b *block) { b.txs[2] = b.txs[1]; b.relist() }},
		{"gradient appended", app.ErrOrder, func(b *block) { b.txs = append(b.txs, b.txs[4]) }},
		{"gradient replaced by the sender's other one", app.ErrMismatch, func(b *block) {
			g := *b.txs[1].Gradient
			g.Payload = append([]byte{g.Payload[0] ^ 1}, g.Payload[1:]...)
			b.txs[1] = apptest.Sign(0, &g)
		}},
		{"gradient changed, Delta not", app.ErrTolerance, func(b *block) {
			b.gradient(selected(b), func(g *tx.Gradient) { g.Payload[0] ^= 1 })
		}},
		{"gradient of an old round", app.ErrWrongRound, func(b *block) { b.txs[1] = old[1] }},
		{"gradient of an old round, relisted", app.ErrWrongRound, func(b *block) { b.txs[1] = b.stale(0); b.relist() }},
		{"gradient of the next round", app.ErrWrongRound,
			func(b *block) { b.gradient(0, func(g *tx.Gradient) { g.Round++ }) }},
		{"gradient of another epoch", app.ErrWrongRound,
			func(b *block) { b.gradient(0, func(g *tx.Gradient) { g.Epoch++ }) }},
		{"gradient signed by another participant", app.ErrGradientSigned, func(b *block) {
			b.txs[1] = apptest.Sign(1, b.txs[1].Gradient)
			b.relist()
		}},
		{"gradient's signature flipped", app.ErrGradientSigned,
			func(b *block) { b.txs[1] = reseal(b.txs[1], func(e *tx.Envelope) { e.Signature[5] ^= 4 }); b.relist() }},
		{"gradient signed for another chain", app.ErrGradientSigned, func(b *block) {
			b.txs[1], _ = tx.Sign("other-chain", b.txs[1].Gradient, apptest.Key(0))
			b.relist()
		}},
		{"gradient too short", app.ErrPayload, func(b *block) {
			b.gradient(0,
				func(g *tx.Gradient) { g.Payload = g.Payload[:7] })
		}},
		{"gradient too long", app.ErrPayload, func(b *block) {
			b.gradient(0,
				func(g *tx.Gradient) { g.Payload = append(g.Payload, 0) })
		}},
		{"gradient out of range", app.ErrPayload, func(b *block) {
			b.gradient(0,
				func(g *tx.Gradient) { g.Payload[3] = 0x80 })
		}},
		{"VRF proof missing", app.ErrProof, func(b *block) { b.gradient(0, func(g *tx.Gradient) { g.VrfProof = nil }) }},
		{"VRF proof too short", app.ErrProof, func(b *block) {
			b.gradient(0,
				func(g *tx.Gradient) { g.VrfProof = g.VrfProof[:79] })
		}},
		{"VRF proof forged in Gamma", app.ErrProof, func(b *block) { b.proof(0, func(pi []byte) { pi[3] ^= 1 }) }},
		{"VRF proof forged in c", app.ErrProof, func(b *block) { b.proof(1, func(pi []byte) { pi[40] ^= 1 }) }},
		{"VRF proof forged in s", app.ErrProof, func(b *block) { b.proof(2, func(pi []byte) { pi[60] ^= 1 }) }},
		{"VRF proof of another round", app.ErrProof,
			func(b *block) { b.gradient(0, func(g *tx.Gradient) { g.VrfProof = old[1].Gradient.VrfProof }) }},
		{"VRF proof of another participant", app.ErrProof,
			func(b *block) { b.gradient(0, func(g *tx.Gradient) { g.VrfProof = b.txs[2].Gradient.VrfProof }) }},
		{"VRF proof with the signing key", app.ErrProof, func(b *block) {
			b.gradient(0, func(g *tx.Gradient) { g.VrfProof = leader.Prove(apptest.Key(0), b.s.VRFInput()) })
		}},
		{"other transaction before the aggregate", app.ErrOrder,
			func(b *block) { b.txs = append([]*tx.Tx{apptest.Join(9)}, b.txs...) }},
		{"other transaction before the gradients", app.ErrOrder, func(b *block) {
			b.txs = append([]*tx.Tx{b.txs[0], apptest.Join(9)}, b.txs[1:]...)
		}},
		{"other transaction twice", app.ErrKeyTaken,
			func(b *block) { b.txs = append(b.txs, apptest.Join(9), apptest.Join(9)) }},
		{"other transactions in the wrong order", app.ErrProposal, func(b *block) {
			join := apptest.Join(9)
			b.txs = append(b.txs, apptest.Approve(0, join), join)
		}},
		{"other transaction not signed by its sender", app.ErrOperationSigned,
			func(b *block) { b.txs = append(b.txs, apptest.Sign(1, &tx.Remove{Participant: 0, Subject: 0})) }},
		{"joins too many", app.ErrTooMany, func(b *block) {
			for i := range 3 {
				b.txs = append(b.txs, apptest.Join(10+i))
			}
		}},
		{"other transactions too many", app.ErrTooMany, func(b *block) {
			for range 65 {
				b.txs = append(b.txs, apptest.Sign(1, &tx.Remove{Participant: 1, Subject: 0, Nonce: 1}))
			}
		}},
		{"gradient of a stranger", app.ErrIncluded, func(b *block) {
			b.txs[4] = apptest.Sign(9, &tx.Gradient{Epoch: 0, Round: 2, Participant: 9, Payload: b.txs[4].Gradient.Payload})
			b.relist()
		}},
		{"aggregate of an old round", app.ErrAggregateRound,
			func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Round-- }) }},
		{"block of an old round", app.ErrAggregateRound, func(b *block) { b.txs = old }},
		{"aggregate of another epoch", app.ErrAggregateRound,
			func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Epoch++ }) }},
		{"aggregate of a participant out of turn", app.ErrNotLeader, func(b *block) {
			b.leader = int(b.s.Progress.Ranking[1])
			b.aggregate(func(a *tx.Aggregate) { a.Leader = uint32(b.leader) })
		}},
		{"aggregate of a stranger", app.ErrNotLeader, func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Leader = 4 }) }},
		{"aggregate of a view that is not open", app.ErrViewClosed, func(b *block) {
			b.leader = int(b.s.Progress.Ranking[1])
			b.aggregate(func(a *tx.Aggregate) { a.Leader, a.View = uint32(b.leader), 1 })
		}},
		{"aggregate of a view that never opens", app.ErrNotLeader,
			func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.View = 6 }) }},
		{"aggregate of the view for everybody, too early", app.ErrViewClosed,
			func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.View = 5 }) }},
		{"aggregate in the leader's name", app.ErrAggregateSigned, func(b *block) {
			b.txs[0] = apptest.Sign((b.leader+1)%4, b.txs[0].Aggregate)
		}},
		{"aggregate's signature flipped", app.ErrAggregateSigned,
			func(b *block) { b.txs[0] = reseal(b.txs[0], func(e *tx.Envelope) { e.Signature[40] ^= 1 }) }},
		{"digest wrong", app.ErrTolerance, func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Digest[0] ^= 1 }) }},
		{"digest of a Delta shifted in one coordinate", app.ErrTolerance, func(b *block) {
			delta := recompute(b)
			delta.Num[3]++
			digest := sha256.Sum256(delta.Encode())
			b.aggregate(func(a *tx.Aggregate) { a.Digest = digest[:] })
		}},
		{"Delta is another participant's gradient", app.ErrTolerance, func(b *block) {
			v, _ := gradients.Decode(gradients.Int8, 8, b.txs[1].Gradient.Payload)
			digest := sha256.Sum256(gradients.Mean([]gradients.Vector{v}).Encode())
			b.aggregate(func(a *tx.Aggregate) { a.Digest = digest[:] })
		}},
		{"digest missing", app.ErrDeltaForm, func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Digest = nil }) }},
		{"vector at tolerance 0", app.ErrDeltaForm, func(b *block) {
			delta := recompute(b)
			b.aggregate(func(a *tx.Aggregate) { a.Delta = delta.Encode() })
		}},
		{"hash of an included gradient too short", app.ErrIncluded,
			func(b *block) { b.aggregate(func(a *tx.Aggregate) { a.Included[0].Hash = a.Included[0].Hash[:31] }) }},
	}
	for _, m := range mutators {
		t.Run(m.name, func(t *testing.T) {
			b := valid(t, s)
			before := s.Encode()
			m.mutate(b)
			_, err := s.Execute(app.Block{Height: b.height, Txs: b.txs})
			require.ErrorIs(t, err, m.want)
			require.Equal(t, before, s.Encode(), "a rejected block must not change the state")
		})
	}
	t.Logf("%d mutators", len(mutators))
}

// selected returns the position of a gradient that enters Delta.
func selected(b *block) int {
	out, _ := b.s.Execute(app.Block{Height: b.height, Txs: b.txs})
	for i, c := range out.Record.Contributions {
		if c.Selected {
			return i
		}
	}
	panic("nothing is selected")
}

// recompute returns the multi-Krum Delta of the block: the mean of the selected gradients.
func recompute(b *block) gradients.Fraction {
	out, _ := b.s.Execute(app.Block{Height: b.height, Txs: b.txs})
	var vs []gradients.Vector
	for i, c := range out.Record.Contributions {
		if c.Selected {
			v, err := gradients.Decode(b.s.Grid().Width, len(b.s.Model), b.txs[i+1].Gradient.Payload)
			if err != nil {
				panic(err)
			}
			vs = append(vs, v)
		}
	}
	return gradients.Mean(vs)
}

// reseal changes an envelope and decodes it again.
func reseal(t *tx.Tx, change func(*tx.Envelope)) *tx.Tx {
	var e tx.Envelope
	if err := e.Unmarshal(t.Raw); err != nil {
		panic(err)
	}
	change(&e)
	raw, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	out, err := tx.Decode(raw)
	if err != nil {
		panic(err)
	}
	return out
}

// TestTolerance: with a tolerance the aggregate's own Delta is applied if it is within the
// tolerance. A Delta beyond the tolerance, in any coordinate and direction, is rejected.
func TestTolerance(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) {
		p.Rule.Tolerance = 2
		p.Grid.Step = 1.0 / 512 // 2*sqrt(8)/512 is below 5 % of the clip norm
	})
	exact, err := s.Execute(app.Block{Height: 1, Txs: valid(t, s).txs})
	require.NoError(t, err)
	for j := range len(s.Model) {
		for _, shift := range []int64{-3, -2, -1, 1, 2, 3} {
			b := valid(t, s)
			delta := recompute(b)
			delta.Num[j] += shift * delta.Den
			b.aggregate(func(a *tx.Aggregate) { a.Delta = delta.Encode() })
			out, err := s.Execute(app.Block{Height: 1, Txs: b.txs})
			if shift < -2 || shift > 2 {
				require.ErrorIs(t, err, app.ErrTolerance)
				continue
			}
			require.NoError(t, err)
			want := exact.State.Model[j] - float64(shift)*s.Params.Training.LearningRate*s.Params.Grid.Step
			require.InDelta(t, want, out.State.Model[j], 1e-12, "the block's Delta is applied, not the recomputed one")
			require.NotEqual(t, exact.State.Hash(), out.State.Hash())
		}
	}
	b := valid(t, s)
	b.aggregate(func(a *tx.Aggregate) { a.Delta = a.Delta[:len(a.Delta)-1] })
	_, err = s.Execute(app.Block{Height: 1, Txs: b.txs})
	require.ErrorIs(t, err, app.ErrDeltaForm)
	b = valid(t, s)
	b.aggregate(func(a *tx.Aggregate) { a.Digest = make([]byte, 32) })
	_, err = s.Execute(app.Block{Height: 1, Txs: b.txs})
	require.ErrorIs(t, err, app.ErrDeltaForm)
}

// TestJudge: a block that causes a panic is rejected, and the state stays usable.
func TestJudge(t *testing.T) {
	s := apptest.State(4)
	out, err := s.SafeExecute(app.Block{Height: 1, Txs: []*tx.Tx{nil}})
	require.ErrorContains(t, err, "panic: ")
	require.Nil(t, out)
	out, err = s.SafeExecute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	require.NotNil(t, out.Record)
}
