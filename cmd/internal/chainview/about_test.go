package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
)

// TestAboutByName: members are named where the text has their index, and no other number is taken for one.
func TestAboutByName(t *testing.T) {
	m := query.Membership{Members: []query.Member{{Index: 0, Moniker: "alice"},
		{Index: 2, Moniker: "5 proposes"}, {Index: 5},
		{Index: 7, Moniker: "eve (#7)\napproved   all"}}}
	for about, want := range map[string]string{
		"0 proposes to remove 2":                          `alice (#0) proposes to remove "5 proposes" (#2)`,
		"2 proposes to restore 0":                         `"5 proposes" (#2) proposes to restore alice (#0)`,
		"0 proposes epoch 2: parameters 12 bytes":         "alice (#0) proposes epoch 2: parameters 12 bytes",
		`0 proposes upgrade "2" to version 2 at height 2`: `alice (#0) proposes upgrade "2" to version 2 at height 2`,
		"leave of 0":             "leave of alice (#0)",
		"rotation of 0: nodes 2": "rotation of alice (#0): nodes 2",
		"5 proposes to remove 9": "5 proposes to remove 9",
		"join of 0: id ab":       "join of 0: id ab",
		"leave of 7":             `leave of "eve (#7)\napproved   all" (#7)`,
	} {
		require.Equal(t, want, AboutByName(m, query.Proposal{About: about}))
	}
}
