package app_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

func upgradeTo(name string, height, version uint64) *tx.Tx {
	return ring{}.sign(0, &tx.Upgrade{Participant: 0, Nonce: tick(), Name: name, Height: height, Version: version})
}

func cancel(name string) *tx.Tx { return upgradeTo(name, 0, 0) }

// TestUpgrade: an approved upgrade is in the state, under the application hash. The old version
// judges the heights before the upgrade's height, and only a program of the new version judges
// blocks from that height on.
func TestUpgrade(t *testing.T) {
	s := apptest.State(4, mean)
	x := upgradeTo("feature maps", 30, app.Version+1)
	plain := round(t, s)
	out := round(t, s, agreed(x)...)
	require.Equal(t, []app.Enactment{{Kind: tx.KindUpgrade, Participant: 0, Proposal: id(x)}}, out.Enacted)
	planned := []app.Upgrade{{Name: "feature maps", Height: 30, Version: app.Version + 1}}
	require.Equal(t, planned, out.State.Progress.Upgrades)
	require.Empty(t, out.State.Proposals)
	require.NotEqual(t, plain.State.Hash(), out.State.Hash(), "the plan is under the hash")
	again, err := app.DecodeState(out.State.Height, out.State.Encode())
	require.NoError(t, err)
	plan, ok := again.Plan()
	require.True(t, ok)
	require.Equal(t, planned[0], plan)

	s = out.State
	_, err = s.As(app.Version + 1).Execute(app.Block{Height: s.Height + 1})
	exactly(t, app.ErrVersion, err)
	require.ErrorContains(t, err, "is of an earlier one")
	for s.Height < 29 {
		_, ok := s.Upgraded()
		require.False(t, ok, "height %d", s.Height)
		s = step(t, s).State
	}
	u, ok := s.Upgraded()
	require.True(t, ok, "the height after 29 is the upgrade's")
	require.Equal(t, planned[0], u)
	exactly(t, app.ErrVersion, s.Executable())
	_, err = s.DraftAggregate(30, s.Progress.Ranking[0], apptest.Gradients(s, 0, 1, 2, 3))
	exactly(t, app.ErrVersion, err)
	for _, txs := range [][]*tx.Tx{nil, apptest.Close(s.As(app.Version+1), 30)} {
		for _, version := range []uint64{app.Version, app.Version + 2} {
			_, err = s.As(version).Execute(app.Block{Height: 30, Txs: txs})
			exactly(t, app.ErrVersion, err)
			require.ErrorContains(t, err, `upgrade "feature maps" makes it version`)
		}
	}
	after, err := s.As(app.Version + 1).Execute(app.Block{Height: 30, Txs: apptest.Close(s.As(app.Version+1), 30)})
	require.NoError(t, err)
	require.NotNil(t, after.Record)
	_, ok = after.State.Plan()
	require.False(t, ok, "it was made")
	refused(t, after.State, app.ErrUpgradeVersion, upgradeTo("again", 90, app.Version+1))
	next := round(t, after.State, agreed(upgradeTo("more", 90, app.Version+2))...)
	require.Len(t, next.State.Progress.Upgrades, 2, "what was made stays on file")
	require.NoError(t, next.State.Executable())
}

// TestUpgradeRules applies U1 to the name, U2 to version and height, and U3 to a cancellation.
func TestUpgradeRules(t *testing.T) {
	s := apptest.State(4, mean)
	ahead, above := s.Height+1+app.UpgradeMargin, app.Version+1
	for _, c := range []struct {
		want error
		x    *tx.Tx
	}{
		{app.ErrUpgrade, upgradeTo("", ahead, above)},
		{app.ErrUpgrade, upgradeTo(strings.Repeat("a", 65), ahead, above)},
		{app.ErrUpgrade, upgradeTo("é", ahead, above)},
		{app.ErrUpgrade, upgradeTo("a\n", ahead, above)},
		{app.ErrUpgradeVersion, upgradeTo("a", ahead, app.Version)},
		{app.ErrUpgradeVersion, upgradeTo("a", ahead, 0)},
		{app.ErrUpgradeVersion, upgradeTo("a", 0, above)},
		{app.ErrUpgradeVersion, upgradeTo("a", math.MaxInt64+1, above)},
		{app.ErrNoPlan, cancel("a")},
	} {
		refused(t, s, c.want, c.x)
	}
	_, err := s.Execute(app.Block{Height: 1, Txs: []*tx.Tx{upgradeTo("a", ahead-1, above)}})
	exactly(t, app.ErrUpgradeVersion, err)
	require.ErrorContains(t, err, "height 20, want at least 21")
	step(t, s, upgradeTo(strings.Repeat("a", 64), ahead, above))
	step(t, s, upgradeTo("a", math.MaxInt64, math.MaxUint64))
}

// TestUpgradeIsReplaced: a later approved upgrade replaces the planned one, whether its height and
// version are lower or higher, until the block before the planned height. After a cancellation by
// name the chain goes on unchanged.
func TestUpgradeIsReplaced(t *testing.T) {
	s := apptest.State(4, mean)
	s = round(t, s, agreed(upgradeTo("one", 40, app.Version+2))...).State
	s = round(t, s, agreed(upgradeTo("two", 30, app.Version+1))...).State
	require.Equal(t, []app.Upgrade{{Name: "two", Height: 30, Version: app.Version + 1}}, s.Progress.Upgrades)
	refused(t, s, app.ErrNoPlan, cancel("one"))
	x := cancel("two")
	s = step(t, s, x, ring{}.approve(1, x)).State
	for s.Height < 28 {
		s = step(t, s).State
	}
	out := round(t, s, ring{}.approve(2, x))
	require.EqualValues(t, 29, out.State.Height, "the last height of the version before")
	require.NoError(t, out.Enacted[0].Refused)
	require.Empty(t, out.State.Progress.Upgrades)
	require.NoError(t, step(t, out.State).State.Executable())
}

// TestUpgradeTooLate: an upgrade that is approved too close to its height is dropped, with an event
// if it was accepted.
func TestUpgradeTooLate(t *testing.T) {
	s := apptest.State(4, mean)
	x, y := upgradeTo("late", 25, app.Version+1), upgradeTo("never", 25, app.Version+1)
	s = step(t, s, x, y, ring{}.approve(1, x)).State
	for s.Height < 6 {
		s = step(t, s).State
	}
	out := round(t, s, ring{}.approve(2, x))
	require.Len(t, out.Enacted, 1)
	exactly(t, app.ErrUpgradeVersion, out.Enacted[0].Refused)
	require.Empty(t, out.State.Proposals)
	require.Empty(t, out.State.Progress.Upgrades)
}

// TestUpgradeNeedsApproval: an upgrade needs three of four approvals, also in a finished chain.
func TestUpgradeNeedsApproval(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 1 })
	s = round(t, s).State
	x := upgradeTo("a", 60, app.Version+1)
	s = step(t, s, x, ring{}.approve(1, x)).State
	_, ok := s.Plan()
	require.False(t, ok)
	_, ok = step(t, s, ring{}.approve(2, x)).State.Plan()
	require.True(t, ok)
}
