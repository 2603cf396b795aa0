package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

func nodeID(i int) string { return fmt.Sprintf("%040x", i) }

// TestNodeIDs: participants register the ids of their nodes in genesis, by Join and by Rotate,
// which replaces all of them. A chain is closed once every validator has registered one, and stays
// closed.
func TestNodeIDs(t *testing.T) {
	s := apptest.State(4)
	ids, only := app.Nodes(s.Participants, s.Height)
	require.Empty(t, ids)
	require.False(t, only, "a chain whose members have named no node is open")

	rename := func(i uint32, ids ...string) *tx.Tx {
		return apptest.Sign(int(i), &tx.Rotate{Participant: i, Nonce: tick(), NodeIds: ids})
	}
	for i := range 3 {
		s = step(t, s, rename(uint32(i), nodeID(i), nodeID(10+i))).State
	}
	s = round(t, s).State
	_, only = app.Nodes(s.Participants, s.Height)
	require.False(t, only, "one member has named none")
	worker := joinAs(4, func(j *tx.Join) { j.ConsensusKey, j.ConsensusProof = nil, nil })
	require.NoError(t, s.Admit(apptest.Join(9)), "an open chain takes a validator without node ids")

	s = round(t, s, append([]*tx.Tx{rename(3, nodeID(3))}, approved(worker, 0, 1, 2)...)...).State
	ids, only = app.Nodes(s.Participants, s.Height)
	require.True(t, only, "a worker alone has no node to name")
	require.ElementsMatch(t, []string{nodeID(0), nodeID(1), nodeID(2), nodeID(3), nodeID(10), nodeID(11), nodeID(12)}, ids)

	refused(t, s, app.ErrInfeasible, apptest.Join(5))
	refused(t, s, app.ErrIdentity, apptest.Sign(0, &tx.Rotate{Participant: 0, Nonce: tick()}))
	s = round(t, s, append(approved(joinAs(5, func(j *tx.Join) { j.NodeIds = []string{nodeID(5)} }), 0, 1, 2, 3),
		rename(0, nodeID(20)))...).State
	require.Equal(t, []string{nodeID(20)}, s.Participants[0].NodeIds, "all those before are replaced")
	require.Equal(t, []string{nodeID(5)}, s.Participants[5].NodeIds)
	again, err := app.DecodeState(s.Height, s.Encode())
	require.NoError(t, err)
	require.Equal(t, s.Participants, again.Participants)

	s = round(t, s, leave(5)).State
	for range 2 {
		ids, only = app.Nodes(s.Participants, s.Height)
		require.True(t, only)
		require.Contains(t, ids, nodeID(5), "the validator of a leaver votes on one more block")
		require.False(t, s.Participants[5].Active)
		s = step(t, s).State
	}
	ids, only = app.Nodes(s.Participants, s.Height)
	require.True(t, only)
	require.NotContains(t, ids, nodeID(5))
}

// TestNodeIDRules applies M1 to node ids, in operations and in genesis.
func TestNodeIDRules(t *testing.T) {
	var many []string
	for i := range app.MaxNodeIDs + 1 {
		many = append(many, nodeID(i))
	}
	s := apptest.State(4)
	require.NoError(t, s.Admit(joinAs(9, func(j *tx.Join) { j.NodeIds = many[:app.MaxNodeIDs] })))
	for name, ids := range map[string][]string{
		"too many":   many,
		"short":      {nodeID(1)[1:]},
		"long":       {nodeID(1) + "0"},
		"no hex":     {strings.Repeat("g", 40)},
		"upper case": {strings.ToUpper(nodeID(0xab))},
		"twice":      {nodeID(1), nodeID(1)},
		"decreasing": {nodeID(2), nodeID(1)},
		"empty":      {""},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, s, app.ErrIdentity, joinAs(9, func(j *tx.Join) { j.NodeIds = ids }))
			refused(t, s, app.ErrIdentity, rotateAs(func(r *tx.Rotate) { r.NodeIds = ids }))
			g := apptest.Genesis(4, apptest.Params(4))
			g.Participants[2].NodeIds = ids
			_, err := g.Validate()
			require.ErrorIs(t, err, app.ErrGenesis)
		})
	}
}

// TestOpenGenesisWarns: the genesis of a chain whose nodes admit all peers has a warning.
func TestOpenGenesisWarns(t *testing.T) {
	g := apptest.Genesis(4, apptest.Params(4))
	warnings, err := g.Validate()
	require.NoError(t, err)
	require.Contains(t, strings.Join(warnings, "\n"), "node_ids")
	for i := range g.Participants {
		g.Participants[i].NodeIds = []string{nodeID(i)}
	}
	warnings, err = g.Validate()
	require.NoError(t, err)
	require.NotContains(t, strings.Join(warnings, "\n"), "node_ids")
}
