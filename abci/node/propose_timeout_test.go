package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
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
	require.EqualValues(t, 6, decidedHeight(members, heights), "two of seven may lie")
	heights["2a"] = 8
	require.EqualValues(t, 7, decidedHeight(members, heights), "of three, one is only there")
	require.EqualValues(t, -1, decidedHeight(members, nil))
	require.EqualValues(t, -1, decidedHeight(nil, heights))
}

// TestProposeTimeout: a missed turn shortens only the timeout of the first proposer of a height,
// and only for that height.
func TestProposeTimeout(t *testing.T) {
	c := config.DefaultConsensusConfig()
	c.TimeoutPropose, c.TimeoutProposeDelta = time.Second, 500*time.Millisecond
	set := newProposeTimeout(c).adapt
	set(true)
	set(true)
	require.Equal(t, 100*time.Millisecond, c.Propose(0))
	require.Equal(t, 1500*time.Millisecond, c.Propose(1))
	require.GreaterOrEqual(t, c.Propose(2), 2*time.Second)
	set(false)
	require.Equal(t, time.Second, c.Propose(0))
	require.Equal(t, 2*time.Second, c.Propose(2))
}
