package query

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
)

// TestMembershipTables: approvals are votes with names and not indices, votes of participants that
// left do not count, columns without a value are left out, and no name can forge a line.
func TestMembershipTables(t *testing.T) {
	m := query.Membership{Threshold: 3, Members: []query.Member{
		{Index: 0, ID: "00", Moniker: "alice", Active: true, Validator: true},
		{Index: 1, ID: "01", Moniker: "bob\nmallory", Active: true, Joined: 100},
		{Index: 2, ID: "02", Moniker: "carol", Joined: 7},
	}, Proposals: []query.Proposal{
		{ID: "aa", Kind: "remove", Height: 9, Approvals: []uint32{1, 0, 2}, About: "0 proposes to remove 1"},
		{ID: "bb", Kind: "remove", Accepted: true, About: "leave of 0"},
	}}
	var b strings.Builder
	printMembers(&b, m.Members)
	require.Equal(t, "index\tid\tmoniker\tvalidator\tjoined\tleft\n0\t00\talice\ttrue\t0\t-\n"+
		"1\t01\t\"bob\\nmallory\"\tfalse\t100\t-\n2\t02\tcarol\tfalse\t7\tyes\n", b.String())
	m.Members[0].Address = "a:1"
	b.Reset()
	printMembers(&b, m.Members)
	require.Contains(t, b.String(), "left\taddress\n")
	require.Contains(t, b.String(), "\t\"a:1\"\n")
	b.Reset()
	printProposals(&b, m)
	require.Contains(t, b.String(), "\taa\tremove\t9\t2 of 3: alice, \"bob\\nmallory\"\topen\t"[1:])
	require.Contains(t, b.String(), "bb\tremove\t0\tnone needed\taccepted\tleave of 0")
	b.Reset()
	printProposals(&b, query.Membership{})
	require.Empty(t, b.String())
}
