package network

import (
	"fmt"
	"testing"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestDecidedByMembers: a height is decided if more members than can be Byzantine have a node
// beyond it. Each member counts once, and strangers, former members and workers without a validator
// do not count.
func TestDecidedByMembers(t *testing.T) {
	var members []app.Participant
	for i := range 7 {
		members = append(members, app.Participant{Active: true, ConsensusKey: []byte{byte(i)},
			NodeIds: []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b")}})
	}
	members = append(members,
		app.Participant{ConsensusKey: []byte{8}, NodeIds: []string{"left"}},
		app.Participant{Active: true, NodeIds: []string{"worker"}})
	heights := map[p2p.ID]int64{"left": 9, "worker": 9, "0a": 9, "0b": 9, "1a": 9, "1b": 9, "2a": 7}
	for k := range 40 {
		heights[p2p.ID(fmt.Sprint("stranger", k))] = 9
	}
	require.EqualValues(t, 6, Decided(members, heights), "two of seven may lie")
	heights["2a"] = 8
	require.EqualValues(t, 7, Decided(members, heights), "of three, one is only there")
	require.EqualValues(t, -1, Decided(members, nil))
	require.EqualValues(t, -1, Decided(nil, heights))
}
