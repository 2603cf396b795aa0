package tx_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// pairs returns two gradients, two aggregates and two commitments, each pair for one place.
func pairs(t testing.TB) map[tx.Kind][2]*tx.Tx {
	t.Helper()
	signed := func(b tx.Body) *tx.Tx {
		x, err := tx.Sign(chain, b, key)
		require.NoError(t, err)
		return x
	}
	g, a := gradient(), aggregate()
	g.Payload, a.Digest = []byte{9}, bytes.Repeat([]byte{1}, 32)
	return map[tx.Kind][2]*tx.Tx{
		tx.KindGradient:  {signed(gradient()), signed(g)},
		tx.KindAggregate: {signed(aggregate()), signed(a)},
		tx.KindCommit:    {signed(commit(1)), signed(commit(2))},
	}
}

// commit returns a commitment to a hash of one byte, repeated.
func commit(hash byte) *tx.Commit {
	return &tx.Commit{Epoch: 2, Round: 7, Participant: 1, Hash: bytes.Repeat([]byte{hash}, 32)}
}

// TestSameIncluded: lists are the same only with the same gradients in the same order.
func TestSameIncluded(t *testing.T) {
	a := []tx.Included{{Participant: 1, Hash: []byte{1}}, {Participant: 2, Hash: []byte{2}}}
	require.True(t, tx.SameIncluded(a, []tx.Included{{Participant: 1, Hash: []byte{1}},
		{Participant: 2, Hash: []byte{2}}}))
	require.False(t, tx.SameIncluded(a, a[:1]))
	require.False(t, tx.SameIncluded(a, []tx.Included{a[1], a[0]}))
	require.False(t, tx.SameIncluded(a, []tx.Included{a[0], {Participant: 2, Hash: []byte{3}}}))
}

// TestAggregateHeader: the header names the place, and the content by its hash.
func TestAggregateHeader(t *testing.T) {
	a := aggregate()
	content, err := a.Marshal()
	require.NoError(t, err)
	hash := sha256.Sum256(content)
	require.Equal(t, tx.AggregateHeader{Epoch: a.Epoch, Round: a.Round, Leader: a.Leader, View: a.View,
		ContentHash: hash[:]}, a.Header())
}

// TestNewEvidence: evidence has two different canonical headers of one kind and place, in
// increasing byte order, and the same bytes for every builder.
func TestNewEvidence(t *testing.T) {
	pub := key.Public().(ed25519.PublicKey)
	places := map[tx.Kind]tx.Place{
		tx.KindGradient:  {Kind: tx.KindGradient, Epoch: 1, Round: 300, Participant: 2},
		tx.KindAggregate: {Kind: tx.KindAggregate, Round: 5, Participant: 3, View: 1},
		tx.KindCommit:    {Kind: tx.KindCommit, Epoch: 2, Round: 7, Participant: 1},
	}
	for kind, pair := range pairs(t) {
		x, err := tx.NewEvidence(pair[0], pair[1])
		require.NoError(t, err)
		again, err := tx.NewEvidence(pair[1], pair[0])
		require.NoError(t, err)
		require.Equal(t, x.Raw, again.Raw)
		require.Equal(t, x.Hash, again.Hash)
		require.Less(t, len(x.Raw), 512, "the statements stand in it by their headers")
		decoded, err := tx.Decode(x.Raw)
		require.NoError(t, err)
		e := decoded.Body.(*tx.Evidence)
		require.Equal(t, x.Body, decoded.Body)
		require.Negative(t, bytes.Compare(e.First, e.Second))
		at, err := e.Conflict()
		require.NoError(t, err)
		require.Equal(t, places[kind], at)
		for _, p := range pair {
			place, ok := tx.PlaceOf(p)
			require.True(t, ok)
			require.Equal(t, at, place)
		}
		require.NoError(t, e.VerifyBy(chain, pub))
		require.NoError(t, e.VerifyBy(chain, other, pub), "with any of the keys")
		require.ErrorIs(t, e.VerifyBy("chain-2", pub), tx.ErrSignature)
		require.ErrorIs(t, e.VerifyBy(chain, other), tx.ErrSignature)
		require.ErrorIs(t, e.VerifyBy(chain, pub[:31]), tx.ErrSignature)
		for _, spoil := range []func(*tx.Evidence){
			func(e *tx.Evidence) { e.FirstSignature = e.SecondSignature },
			func(e *tx.Evidence) { e.SecondSignature = e.FirstSignature },
			func(e *tx.Evidence) { e.FirstSignature = nil },
			func(e *tx.Evidence) { e.Kind = 3 - e.Kind },
			func(e *tx.Evidence) { e.Second = e.First },
		} {
			bad := *e
			spoil(&bad)
			require.ErrorIs(t, bad.VerifyBy(chain, pub), tx.ErrSignature)
		}
		// Each statement is signed with its own key, as after a rotation.
		second, err := tx.Sign(chain, pair[1].Body, otherKey)
		require.NoError(t, err)
		mixed, err := tx.NewEvidence(pair[0], second)
		require.NoError(t, err)
		require.NoError(t, mixed.Body.(*tx.Evidence).VerifyBy(chain, pub, other))
		require.ErrorIs(t, mixed.Body.(*tx.Evidence).VerifyBy(chain, pub), tx.ErrSignature)
		_, err = tx.NewEvidence(pair[0], pair[0])
		require.ErrorIs(t, err, tx.ErrNoConflict)
	}
}

var (
	otherKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32))
	other    = otherKey.Public().(ed25519.PublicKey)
)

// TestNoEvidence: statements for different places do not contradict each other, and other
// transactions are no statements.
func TestNoEvidence(t *testing.T) {
	g, a := pairs(t)[tx.KindGradient][0], pairs(t)[tx.KindAggregate][0]
	at := func(change func(*tx.Gradient)) *tx.Tx {
		b := gradient()
		b.Payload = []byte{9}
		change(b)
		return sign(t, b)
	}
	agg := func(change func(*tx.Aggregate)) *tx.Tx {
		b := aggregate()
		b.Digest = bytes.Repeat([]byte{1}, 32)
		change(b)
		return sign(t, b)
	}
	leave := sign(t, &tx.Remove{Participant: 1, Subject: 1})
	for name, c := range map[string]struct {
		want error
		a, b *tx.Tx
	}{
		"a gradient and an aggregate": {tx.ErrNoConflict, g, a},
		"an aggregate and a gradient": {tx.ErrNoConflict, a, g},
		"a gradient and a leave":      {tx.ErrNoConflict, g, leave},
		"two leaves":                  {tx.ErrMalformed, leave, sign(t, &tx.Remove{Participant: 2, Subject: 2})},
		"another epoch":               {tx.ErrNoConflict, g, at(func(g *tx.Gradient) { g.Epoch++ })},
		"another round":               {tx.ErrNoConflict, g, at(func(g *tx.Gradient) { g.Round++ })},
		"another participant":         {tx.ErrNoConflict, g, at(func(g *tx.Gradient) { g.Participant++ })},
		"aggregate's epoch":           {tx.ErrNoConflict, a, agg(func(a *tx.Aggregate) { a.Epoch++ })},
		"aggregate's round":           {tx.ErrNoConflict, a, agg(func(a *tx.Aggregate) { a.Round++ })},
		"aggregate's leader":          {tx.ErrNoConflict, a, agg(func(a *tx.Aggregate) { a.Leader++ })},
		"aggregate's view":            {tx.ErrNoConflict, a, agg(func(a *tx.Aggregate) { a.View++ })},
		"signed twice":                {tx.ErrNoConflict, g, sign(t, gradient())},
	} {
		_, err := tx.NewEvidence(c.a, c.b)
		require.ErrorIs(t, err, c.want, name)
	}
	_, ok := tx.PlaceOf(leave)
	require.False(t, ok)
	// An aggregate's header covers all of it: another included hash gives another header.
	differs := aggregate()
	differs.Included[1].Hash = bytes.Repeat([]byte{7}, 32)
	_, err := tx.NewEvidence(a, sign(t, differs))
	require.NoError(t, err)
}

// TestEvidenceForm applies E1 to decoded evidence.
func TestEvidenceForm(t *testing.T) {
	x, err := tx.NewEvidence(pairs(t)[tx.KindGradient][0], pairs(t)[tx.KindGradient][1])
	require.NoError(t, err)
	for name, c := range map[string]struct {
		want  error
		spoil func(*tx.Evidence)
	}{
		"out of order":    {tx.ErrNoConflict, func(e *tx.Evidence) { e.First, e.Second = e.Second, e.First }},
		"equal":           {tx.ErrNoConflict, func(e *tx.Evidence) { e.Second = e.First }},
		"both empty":      {tx.ErrNoConflict, func(e *tx.Evidence) { e.First, e.Second = nil, nil }},
		"first is noise":  {tx.ErrMalformed, func(e *tx.Evidence) { e.First = []byte{0xff} }},
		"second is noise": {tx.ErrMalformed, func(e *tx.Evidence) { e.Second = []byte{0xff} }},
		"first padded": {tx.ErrNotCanonical, func(e *tx.Evidence) {
			e.First = append([]byte{8, 0x81, 0},
				e.First[2:]...)
		}},
		"second with more": {tx.ErrNotCanonical, func(e *tx.Evidence) { e.Second = append(bytes.Clone(e.Second), 0x78, 1) }},
		"of evidence":      {tx.ErrMalformed, func(e *tx.Evidence) { e.Kind = uint32(tx.KindEvidence) }},
		"of no kind":       {tx.ErrMalformed, func(e *tx.Evidence) { e.Kind = 0 }},
		"of joins":         {tx.ErrMalformed, func(e *tx.Evidence) { e.Kind = 3 }},
	} {
		e := *x.Body.(*tx.Evidence)
		c.spoil(&e)
		_, err := e.Conflict()
		require.ErrorIs(t, err, c.want, name)
	}
	// "Evidence has no signature of its own."
	for _, n := range []int{1, 64} {
		_, err = tx.Decode(envelope(t, x, func(e *tx.Envelope) { e.Signature = make([]byte, n) }))
		require.ErrorIs(t, err, tx.ErrMalformed)
	}
}

// TestEveryKind: transactions of all kinds are signed, decoded and verified in the same way, T1 to
// T3.
func TestEveryKind(t *testing.T) {
	pub := key.Public().(ed25519.PublicKey)
	for kind, body := range map[tx.Kind]tx.Body{
		tx.KindGradient: gradient(), tx.KindAggregate: aggregate(),
		tx.KindJoin: &tx.Join{PubKey: pub, VrfKey: pub, VrfProof: []byte{1}, ConsensusKey: pub, Moniker: "m",
			Address: "a"},
		tx.KindApprove: &tx.Approve{Participant: 1, Proposal: make([]byte, 32)},
		tx.KindRotate: &tx.Rotate{Participant: 1, PubKey: pub, PubKeyProof: []byte{1}, VrfKey: pub, VrfProof: []byte{2},
			ConsensusKey: pub},
		tx.KindRestore: &tx.Restore{Participant: 1, Subject: 2, Nonce: 3},
		tx.KindRemove:  &tx.Remove{Participant: 1, Subject: 2, Nonce: 3},
		tx.KindEvidence: &tx.Evidence{Kind: 1, First: []byte{1}, FirstSignature: []byte{2}, Second: []byte{3},
			SecondSignature: []byte{4}},
		tx.KindStartEpoch: &tx.StartEpoch{Participant: 1, Epoch: 2, Params: []byte{1}, KeepModel: true, Now: true},
		tx.KindUpgrade:    &tx.Upgrade{Participant: 1, Name: "n", Height: 2, Version: 3, Nonce: 4},
	} {
		x := sign(t, body)
		require.Equal(t, kind, x.Kind())
		require.NotContains(t, kind.String(), "kind(")
		got, err := tx.Decode(x.Raw)
		require.NoError(t, err, kind)
		require.Equal(t, body, got.Body)
		require.Equal(t, x.Content, got.Content)
		if kind.Signed() {
			require.NoError(t, got.Verify(chain, pub))
			require.ErrorIs(t, got.Verify(chain, other), tx.ErrSignature)
		} else {
			require.Empty(t, got.Signature)
		}
		// The signature covers the kind: no content is valid as another kind.
		for k := tx.KindGradient; k <= tx.KindUpgrade; k++ {
			if k == kind || !kind.Signed() || !k.Signed() {
				continue
			}
			if as, err := tx.Decode(envelope(t, x, func(e *tx.Envelope) { e.Kind = uint32(k) })); err == nil {
				require.ErrorIs(t, as.Verify(chain, pub), tx.ErrSignature, "%s as %s", kind, k)
			}
		}
	}
}

// FuzzEvidence: no bytes of evidence panic, and valid evidence is canonical, ordered and different.
func FuzzEvidence(f *testing.F) {
	for kind, pair := range pairs(f) {
		x, err := tx.NewEvidence(pair[0], pair[1])
		require.NoError(f, err)
		e := x.Body.(*tx.Evidence)
		f.Add(uint32(kind), e.First, e.FirstSignature, e.Second, e.SecondSignature)
	}
	f.Fuzz(func(t *testing.T, kind uint32, first, firstSignature, second, secondSignature []byte) {
		e := &tx.Evidence{Kind: kind, First: first, FirstSignature: firstSignature, Second: second,
			SecondSignature: secondSignature}
		at, err := e.Conflict()
		_ = e.VerifyBy(chain, key.Public().(ed25519.PublicKey), other)
		if err == nil {
			require.Negative(t, bytes.Compare(first, second))
			require.Equal(t, tx.Kind(kind), at.Kind)
		}
		x, err := tx.Sign("", e, nil)
		require.NoError(t, err)
		again, err := tx.Decode(x.Raw)
		require.NoError(t, err)
		require.Equal(t, x.Raw, again.Raw)
	})
}
