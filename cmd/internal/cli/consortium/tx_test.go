package consortium

import (
	"encoding/base64"
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
	"github.com/spdl/spdl/cmd/internal/chainview"
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

// TestRejectedOnce: the error of a rejected transaction stands alone.
func TestRejectedOnce(t *testing.T) {
	var b strings.Builder
	Report{Kind: "approve", Hash: "AB", Code: 16, Log: "M5: no"}.text(&b)
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
		"spdl query proposals shows who approved", awaits(m, p))
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
	e := chainview.Effect{Changes: []params.Change{{Name: "training.learning_rate", Before: "30", After: "0.5"},
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
