package app_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestDescribe: the description of every operation has its sender, its subject and the id by which
// it is approved. A round's own transaction has no description.
func TestDescribe(t *testing.T) {
	s := apptest.State(4)
	join := apptest.Join(4)
	id := join.ID()
	vrf := apptest.Identity(9).VrfKey
	for _, c := range []struct {
		t       *tx.Tx
		from    uint32
		sent    bool
		subject string
		summary string
		has     map[string]string
	}{
		{join, 0, false, string(apptest.Identity(4).PubKey), "join of node4", map[string]string{"moniker": "node4",
			"proposal": hex.EncodeToString(id[:])}},
		{apptest.Approve(2, join), 2, true, string(id[:]), "approval of 2", map[string]string{"participant": "2",
			"proposal": hex.EncodeToString(id[:])}},
		{apptest.Sign(1, &tx.Rotate{Participant: 1, Nonce: 1, VrfKey: vrf}), 1, true, "", "rotation of 1",
			map[string]string{"participant": "1"}},
		{apptest.Sign(1, &tx.Restore{Participant: 1, Subject: 3, Nonce: 1}), 1, true, "3", "1 proposes to restore 3",
			map[string]string{"subject": "3"}},
		{apptest.Sign(1, &tx.Remove{Participant: 1, Subject: 3, Nonce: 1}), 1, true, "3", "1 proposes to remove 3",
			map[string]string{"subject": "3"}},
		{apptest.Sign(1, &tx.Remove{Participant: 1, Subject: 1, Nonce: 1}), 1, true, "1", "leave of 1",
			map[string]string{"subject": "1"}},
		{apptest.Sign(0, app.NewStartEpoch(0, 1, 1, apptest.Params(4), true, true)), 0, true, "", "0 proposes epoch 1",
			map[string]string{"epoch": "1"}},
		{upgradeTo("a b", 99, 5), 0, true, "", `0 proposes upgrade "a b" to version 5 at height 99`,
			map[string]string{"name": "a b", "upgrade_height": "99", "version": "5"}},
		{cancel("a b"), 0, true, "", `0 proposes to cancel upgrade "a b"`, map[string]string{"name": "a b", "version": ""}},
	} {
		d, err := app.Describe(c.t)
		require.NoError(t, err, c.summary)
		require.Equal(t, c.summary, d.Summary)
		require.Equal(t, c.from, d.Participant, c.summary)
		require.Equal(t, c.sent, d.Sent, c.summary)
		for key, value := range c.has {
			require.Equal(t, value, d.Value(key), "%s: %s", c.summary, key)
		}
		require.Empty(t, d.Value("nothing"))
		from, subject := app.SubjectOf(c.t)
		require.Equal(t, c.from, from, c.summary)
		require.Equal(t, c.subject, subject, c.summary)
	}
	gradient := apptest.Gradient(s, 0)
	_, err := app.Describe(gradient)
	require.ErrorIs(t, err, app.ErrOrder)
	from, subject := app.SubjectOf(gradient)
	require.Zero(t, from)
	require.Empty(t, subject)
}

// TestAboutProposals: the text of a waiting proposal says what it requests, and quotes values that
// could imitate another attribute.
func TestAboutProposals(t *testing.T) {
	s := apptest.State(4)
	join := apptest.Join(4)
	join.Body.(*tx.Join).Moniker = "a, b: c"
	join = apptest.Sign(4, join.Body)
	out, err := s.Execute(app.Block{Height: 1, Txs: []*tx.Tx{join}})
	require.NoError(t, err)
	require.Len(t, out.State.Proposals, 1)
	about, err := out.State.Proposals[0].About()
	require.NoError(t, err)
	require.Contains(t, about, `join of a, b: c: id `)
	require.Contains(t, about, `moniker "a, b: c"`)
	require.Contains(t, about, "signing key "+hex.EncodeToString(apptest.Identity(4).PubKey))
	_, err = (&app.Proposal{Kind: 99}).About()
	require.Error(t, err)
}

// TestCauseOfOffences: the cause is the kind of the two statements, or CometBFT's type of evidence.
func TestCauseOfOffences(t *testing.T) {
	for cause, o := range map[string]app.Offence{
		"gradient": {Kind: 1}, "aggregate": {Kind: 2}, "duplicate vote": {Misbehavior: 1},
		"light client attack": {Misbehavior: 2}, "unknown": {Misbehavior: 9},
	} {
		require.Equal(t, cause, o.Cause())
	}
}
