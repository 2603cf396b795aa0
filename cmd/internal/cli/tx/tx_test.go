package tx

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func TestUnique(t *testing.T) {
	ids := []string{"aaaaaaaa11", "aaaaaaaa22", "bbbbbbbb33"}
	i, err := unique("proposal", "BBBBBBBB", ids)
	require.NoError(t, err)
	require.Equal(t, 2, i)
	_, err = unique("proposal", "aaaaaaaa", ids)
	require.ErrorContains(t, err, `"aaaaaaaa11" and "aaaaaaaa22"`)
	_, err = unique("proposal", "cccccccc", ids)
	require.ErrorContains(t, err, "none of 3 proposals")
	for _, bad := range []string{"", "aaaaaaa", "aaaaaaag", strings.Repeat("a", 65)} {
		var usage command.UsageError
		require.True(t, errors.As(checkPrefix("proposal", bad), &usage), bad)
	}
}

// TestMemberOf: a participant is named by index, moniker or id. An id goes before a moniker, and a moniker of two
// names none.
func TestMemberOf(t *testing.T) {
	m := query.Membership{Members: []query.Member{{Index: 0, ID: "aaaaaaaa11", Moniker: "solo"},
		{Index: 1, ID: "bbbbbbbb22", Moniker: "aaaaaaaa"}, {Index: 2, ID: "cccccccc33", Moniker: "twin"},
		{Index: 3, ID: "dddddddd44", Moniker: "twin"}, {Index: 4, ID: "eeeeeeee55", Moniker: "0"}}}
	for arg, want := range map[string]uint32{"solo": 0, "1": 1, "AAAAAAAA": 0, "bbbbbbbb2": 1, "0": 0} {
		got, err := memberOf(m, arg)
		require.NoError(t, err, arg)
		require.Equal(t, want, got, arg)
	}
	for arg, says := range map[string]string{"7": "no participant has the index 7", "twin": "participants [2 3] have",
		"ffffffff": "none of 5", "nobody": "want an index, a moniker, or 8"} {
		_, err := memberOf(m, arg)
		require.ErrorContains(t, err, says)
	}
}

// TestEndedError: the error for an approval or a withdrawal after the threshold says since when the proposal is in
// force, and how an upgrade is canceled.
func TestEndedError(t *testing.T) {
	require.EqualError(t, endedError("0123456789", &client.Enactment{Kind: "join", Height: 7}),
		"proposal 01234567 (join) is in force since height 7: it needs no further approval, and cannot be withdrawn")
	require.ErrorContains(t, endedError("0123456789", &client.Enactment{Kind: tx.KindUpgrade.String(), Height: 7}),
		"cannot be withdrawn: spdl tx upgrade NAME --cancel")
	require.ErrorContains(t, endedError("0123456789", &client.Enactment{Height: 7, Refused: "no"}), "at height 7: no")
	require.EqualError(t, endedError("0123456789", &client.Enactment{Kind: "join", Height: 7, Discarded: "withdrawn"}),
		"proposal 01234567 (join) was withdrawn at height 7")
	require.EqualError(t, endedError("0123456789", &client.Enactment{Kind: "join", Height: 7, Discarded: "expired"}),
		"proposal 01234567 (join) has expired at height 7")
}

// TestCheckWithdrawal: an approval that is not there, or of a proposal that is accepted, cannot be
// withdrawn. The error names the proposal, its height and the participants that approved it.
func TestCheckWithdrawal(t *testing.T) {
	m := query.Membership{Members: []query.Member{{Index: 0, Moniker: "alice"}, {Index: 2, Moniker: "carol"}}}
	p := query.Proposal{ID: "0123456789", Kind: "remove", Height: 7, Approvals: []uint32{2, 0}}
	require.NoError(t, checkWithdrawal(m, p, 0))
	require.EqualError(t, checkWithdrawal(m, p, 1), "participant 1 has not approved proposal 01234567 (remove) of "+
		"height 7; approved by carol (#2), alice (#0)")
	p.Accepted = true
	require.ErrorContains(t, checkWithdrawal(m, p, 0), "is accepted")
	p.Approvals = nil
	require.ErrorContains(t, checkWithdrawal(m, p, 0), "approved by nobody")
}

// TestCheckApproval: a second approval of a participant, and one of a proposal that is accepted, end before they are
// sent, with the participants that approved it.
func TestCheckApproval(t *testing.T) {
	m := query.Membership{Members: []query.Member{{Index: 0, Moniker: "alice"}, {Index: 2, Moniker: "carol"}}}
	p := query.Proposal{ID: "0123456789", Kind: "remove", Height: 7, Approvals: []uint32{2}}
	require.NoError(t, checkApproval(m, p, 0))
	require.EqualError(t, checkApproval(m, p, 2), "participant 2 has approved proposal 01234567 (remove) of height 7 "+
		"before: spdl query proposals shows whose approval is missing; approved by carol (#2)")
	p.Accepted = true
	require.ErrorContains(t, checkApproval(m, p, 0), "needs no further approval; approved by carol (#2)")
}

// TestCheckDuplicate: an open proposal of any member with the same effect is found. A member that leaves makes no
// proposal that others approve.
func TestCheckDuplicate(t *testing.T) {
	open := func(b tx.Body) query.Membership {
		content, err := b.Marshal()
		require.NoError(t, err)
		id := tx.IDOf(tx.KindOf(b), content)
		return query.Membership{Members: []query.Member{{Index: 1, Moniker: "bob"}}, Proposals: []query.Proposal{{
			ID: hex.EncodeToString(id[:]), Kind: tx.KindOf(b).String(), Height: 7, Approvals: []uint32{1}, Content: content}}}
	}
	check := func(m query.Membership, b tx.Body) error {
		content, err := proposed(b)
		require.NoError(t, err)
		if content == nil {
			return nil
		}
		return checkDuplicate(m, tx.KindOf(b), content)
	}
	for _, c := range []struct{ open, same, other tx.Body }{
		{&tx.Remove{Participant: 1, Subject: 3, Nonce: 9}, &tx.Remove{Participant: 2, Subject: 3, Nonce: 1},
			&tx.Remove{Participant: 2, Subject: 4, Nonce: 1}},
		{&tx.Restore{Participant: 1, Subject: 3, Nonce: 9}, &tx.Restore{Subject: 3, Nonce: 1},
			&tx.Remove{Participant: 2, Subject: 3, Nonce: 1}},
		{&tx.Upgrade{Participant: 1, Name: "a", Height: 9, Version: 7, Nonce: 9},
			&tx.Upgrade{Name: "a", Height: 9, Version: 7, Nonce: 1}, &tx.Upgrade{Name: "a", Height: 8, Version: 7, Nonce: 1}},
		{&tx.StartEpoch{Participant: 1, Epoch: 2, Params: []byte("p"), Nonce: 9},
			&tx.StartEpoch{Epoch: 2, Params: []byte("p"), Nonce: 1},
			&tx.StartEpoch{Epoch: 2, Params: []byte("p"), Nonce: 1, Now: true}},
		{&tx.Remove{Participant: 3, Subject: 3, Nonce: 9}, nil, &tx.Remove{Participant: 2, Subject: 3, Nonce: 1}},
		{&tx.Remove{Participant: 2, Subject: 3, Nonce: 1}, nil, &tx.Remove{Participant: 3, Subject: 3, Nonce: 1}},
	} {
		m := open(c.open)
		require.NoError(t, check(m, c.other))
		if c.same == nil {
			continue
		}
		err := check(m, c.same)
		require.ErrorContains(t, err, "of height 7 proposes the same, approved by bob (#1): each member approves it by "+
			"spdl tx approve "+m.Proposals[0].ID)
		m.Proposals[0].Accepted = true
		require.ErrorContains(t, check(m, c.same), "it is accepted, and takes effect")
	}
	m := open(&tx.Remove{Participant: 1, Subject: 3, Nonce: 9})
	m.Proposals[0].Content = nil
	require.ErrorContains(t, check(m, &tx.Remove{Subject: 3}), "0 bytes of content")
}

// TestRejectedOnce: the error of a rejected transaction stands alone.
func TestRejectedOnce(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Report{Kind: "approve", Hash: "AB", Code: 16, Log: "M5: no"}.text(&b))
	require.Empty(t, b.String())
}

// TestCatchingUp: the error names the height, and what lets a rejected node in.
func TestCatchingUp(t *testing.T) {
	require.ErrorIs(t, catchingUp(3, ""), client.ErrNotTaken)
	require.ErrorContains(t, catchingUp(3, ""), "catching up, at height 3")
	require.ErrorContains(t, catchingUp(0, "add the id"), "at height 0 and gets no blocks: add the id")
}

// TestSkipsVersions: an upgrade to another version than the next has a warning.
func TestSkipsVersions(t *testing.T) {
	require.Empty(t, skipsVersions(5, 6))
	require.Contains(t, skipsVersions(5, 50), "runs version 5 of the state machine, and --app-version is 50, not 6")
}

// TestAwaits: approvals count of those who are active.
func TestAwaits(t *testing.T) {
	m := query.Membership{Threshold: 3, Members: []query.Member{{Index: 0, Active: true}, {Index: 1},
		{Index: 2, Active: true}}}
	p := query.Proposal{ID: "ab", Kind: "remove", Approvals: []uint32{0, 1}}
	require.Equal(t, "needs 2 more approvals of active participants, has 1 of 3: spdl tx approve ab, by each; "+
		"spdl query proposals shows the votes", awaits(m, p))
	p.Accepted = true
	require.Contains(t, awaits(m, p), "next round boundary")
	p.Kind = tx.KindStartEpoch.String()
	require.Contains(t, awaits(m, p), "when the training is finished")
}

// TestApproveShows: before it signs, a command prints what the proposal changes, and wants --yes if f
// falls to 0, except in a dry run.
func TestApproveShows(t *testing.T) {
	var b strings.Builder
	s := &sender{run: &command.Run{Err: &b}, options: &signOptions{}}
	e := query.Effect{Changes: []params.Change{{Name: "training.learning_rate", Before: "30", After: "0.5"},
		{Name: "preset", Before: "a", After: "b\nc"}}}
	require.NoError(t, s.show(e, "approve", false))
	require.Contains(t, b.String(), "training.learning_rate 30 -> 0.5\npreset a -> \"b\\nc\"\n", "a value forges no line")
	e.Zero = true
	require.ErrorContains(t, s.show(e, "approve", false), "approve with --yes")
	require.NoError(t, s.show(e, "approve", true))
	s.options.dryRun = true
	require.NoError(t, s.show(e, "approve", false))
}

// TestReadTx: an answer with two transactions of one name is refused, for another reader might take
// the other as the offender's.
func TestReadTx(t *testing.T) {
	of := func(i int) string { return base64.StdEncoding.EncodeToString(apptest.Join(i).Raw) }
	file := filepath.Join(t.TempDir(), "tx.json")
	for text, says := range map[string]string{
		`{"tx": "` + of(7) + `"}`:                            "",
		`{"result": {"tx": "` + of(7) + `", "height": "1"}}`: "",
		`{"tx": "` + of(8) + `", "tx": "` + of(7) + `"}`:     "tx is given twice",
		`{"result": {}, "result": {"tx": "` + of(7) + `"}}`:  "result is given twice",
		`{"TX": "` + of(7) + `"}`:                            `name "TX"`,
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		got, err := readTx(file, true)
		if says != "" {
			require.ErrorContains(t, err, says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, apptest.Join(7).Raw, got.Raw)
	}
}
