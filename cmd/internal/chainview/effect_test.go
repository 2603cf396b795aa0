package chainview

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
)

// proposed returns the open proposal of a body.
func proposed(t *testing.T, body tx.Body) query.Proposal {
	t.Helper()
	content, err := body.Marshal()
	require.NoError(t, err)
	id := tx.IDOf(tx.KindOf(body), content)
	return query.Proposal{ID: hex.EncodeToString(id[:]), Kind: tx.KindOf(body).String(), Content: content}
}

// TestEffect: the effect of a proposal for an epoch has every parameter that changes, the effect of
// a removal has N and f, and both tell whether f falls to 0. A content that does not match the
// proposal's id is an error.
func TestEffect(t *testing.T) {
	running, err := preset.New("default", 4)
	require.NoError(t, err)
	next := running
	running.Training.LearningRate, next.Training.LearningRate, next.Rule.Byzantine = 30, 0.5, 0
	m := query.Membership{Participants: 4, Byzantine: 1, Validators: 4, Members: []query.Member{
		{Index: 0, Active: true}, {Index: 3, Active: true, Validator: true}}}
	p := proposed(t, app.NewStartEpoch(0, 1, 1, next, true, true))
	e, err := EffectOf(m, p, running)
	require.NoError(t, err)
	require.Equal(t, []string{"rule.byzantine 1 -> 0 participants", "training.learning_rate 30 -> 0.5",
		"f falls to 0: no fault is withstood then"}, e.Lines())
	require.True(t, e.Now && e.Zero)

	p.Content = proposed(t, app.NewStartEpoch(0, 1, 1, running, true, true)).Content
	e, err = EffectOf(m, p, running)
	require.ErrorContains(t, err, "bytes of content with the id")
	require.Empty(t, e)
	p.Content = nil
	_, err = EffectOf(m, p, running)
	require.ErrorContains(t, err, "0 bytes of content")

	e, err = EffectOf(m, proposed(t, &tx.Remove{Participant: 0, Subject: 3, Nonce: 1}), running)
	require.NoError(t, err)
	require.Equal(t, EffectOfEnd(m, 3), e)
	e, err = EffectOf(m, query.Proposal{Kind: "upgrade"}, running)
	require.NoError(t, err)
	require.Empty(t, e)
}

// TestWithout: the effect has N and f of the learning and of consensus after the end of a
// membership.
func TestWithout(t *testing.T) {
	for _, c := range []struct {
		n, f, validators int
		validator, zero  bool
		says             string
	}{
		{5, 1, 5, true, false, "N is 4 (now 5) and f 1 (now 1); of validators 4 (now 5) and f 1 (now 1)"},
		{4, 1, 4, true, true, "N is 3 (now 4) and f 0 (now 1); of validators 3 (now 4) and f 0 (now 1)"},
		{8, 1, 4, true, true, "f 1 (now 1); of validators 3 (now 4) and f 0 (now 1)"},
		{8, 1, 4, false, false, "N is 7 (now 8) and f 1 (now 1)"},
		{2, 0, 1, false, false, "N is 1 (now 2) and f 0 (now 0)"},
	} {
		e := EffectOfEnd(query.Membership{Participants: c.n, Byzantine: c.f, Validators: c.validators,
			Members: []query.Member{{Index: 2, Active: true, Validator: c.validator}}}, 2)
		require.Contains(t, e.Members, c.says)
		require.Equal(t, c.zero, e.Zero, e.Members)
	}
	gone := query.Membership{Participants: 4, Byzantine: 1, Members: []query.Member{{Index: 2}}}
	require.Empty(t, EffectOfEnd(gone, 2), "it has left before")
}
